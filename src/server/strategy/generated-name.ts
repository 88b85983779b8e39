/** Names that the server makes up: a base, cut to what leaves room, and five random characters without vowels. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_BASE = 63 - SUFFIX_LENGTH;

/** Objects without a name get one; tried again under another if it is taken. */
export function generatedName(base: string): string {
  let name = base.slice(0, MAX_GENERATED_BASE);
  const random = crypto.getRandomValues(new Uint32Array(SUFFIX_LENGTH));
  for (const value of random) name += SUFFIX_ALPHABET[value % SUFFIX_ALPHABET.length];
  return name;
}
