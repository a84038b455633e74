// Sine and cosine with an absolute error of about 1e-7 for |x| up to 1e5, the same on every device: WGSL promises its
// own sin and cos only to 2^-11 and only for |x| <= pi, too coarse for rotary angles of long contexts.
// x = k*pi/2 + r, |r| <= pi/4, with pi/2 in four parts of which the first three have 8 bits, so that their products with
// k < 2^16 are exact (Cody & Waite 1980); on r polynomials fitted by Remez exchange, relative errors 4e-9 and 1e-10.
// Shader compilers may reassociate (Mesa turns a*b + (a*c + d) into a*(b+c) + d, undoing the parts), and no WGSL
// attribute forbids it; a select on a condition they cannot know keeps each step as it stands.

/// (sin x, cos x). `never` is false at run time in a way the compiler cannot see (a uniform compared with what it is not).
fn sincos(x: f32, never: bool) -> vec2f {
  let turns = round(x * 0.636619772);
  var r = select(fma(turns, -1.5703125, x), 0.0, never);
  r = select(fma(turns, -4.825592041015625e-4, r), 0.0, never);
  r = select(fma(turns, -1.2665987014770508e-6, r), 0.0, never);
  r = fma(turns, -9.920935796805404e-10, r);
  let z = r * r;
  let s = fma(fma(fma(-0.00019517298984, z, 0.00833217814618), z, -0.166666549437), z * r, r);
  let c = fma(fma(fma(2.44384515951e-5, z, -0.00138873675158), z, 0.0416666468664), z * z, fma(-0.5, z, 1.0));
  let quadrant = u32(i32(turns)) & 3u;
  let swapped = select(vec2f(s, c), vec2f(c, s), (quadrant & 1u) == 1u);
  return vec2f(
    select(swapped.x, -swapped.x, (quadrant & 2u) == 2u),
    select(swapped.y, -swapped.y, ((quadrant + 1u) & 2u) == 2u),
  );
}
