/**
 * Keys for tests that ask JSON.parse what is right. On Node 24 and newer it may take a key with an escape, `\"`, for another that was
 * read before and is spelled as the escape begins, `\\` (https://github.com/nodejs/node/issues/63785): then it contradicts itself.
 * Without keys that hold a backslash nothing is taken for another.
 */
export function isPlainKey(key: string): boolean {
  return !key.includes('\\');
}

export function hasPlainKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, held]) => isPlainKey(key) && hasPlainKeys(held));
}
