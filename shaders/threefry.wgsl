// Threefry-2x32, 20 rounds: the same function as src/core/rng.ts threefry2x32.
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".

fn threefry_rotl(x: u32, n: u32) -> u32 {
  return (x << n) | (x >> (32u - n));
}

fn threefry2x32(key: vec2u, counter: vec2u) -> vec2u {
  var ks = array<u32, 3>(key.x, key.y, 0x1bd11bdau ^ key.x ^ key.y);
  var rot = array<u32, 8>(13u, 15u, 26u, 6u, 17u, 29u, 16u, 24u);
  var x = counter + key;
  for (var group = 0u; group < 5u; group++) {
    for (var r = 0u; r < 4u; r++) {
      x.x += x.y;
      x.y = threefry_rotl(x.y, rot[(group & 1u) * 4u + r]) ^ x.x;
    }
    x.x += ks[(group + 1u) % 3u];
    x.y += ks[(group + 2u) % 3u] + group + 1u;
  }
  return x;
}

/// Uniform in [0, 1) with 24 bits, as Rng.uniform on the host.
fn threefry_uniform(key: vec2u, counter: u32) -> f32 {
  return f32(threefry2x32(key, vec2u(counter, 0u)).x >> 8u) * 5.9604644775390625e-8;
}
