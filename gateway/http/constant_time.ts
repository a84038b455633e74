/** True when both texts are equal; the time it takes tells their lengths and nothing else. */
export function equalInConstantTime(a: string, b: string): boolean {
  const length = Math.max(a.length, b.length);
  let difference = a.length ^ b.length;
  for (let i = 0; i < length; i++) difference |= a.charCodeAt(i % (a.length || 1)) ^ b.charCodeAt(i % (b.length || 1));
  return difference === 0;
}
