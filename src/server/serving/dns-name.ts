/** As it may stand in a certificate; the first label may be a star for all. */
export function isDnsName(text: string): boolean {
  if (text.length > 253) return false;
  return text.split('.').every((label, i) => (i === 0 && label === '*') || /^[a-z0-9_-]{1,63}$/i.test(label));
}
