/**
 * Texts that have made parsers slow: each of about a given length, each a different way to make a pattern backtrack, a
 * splitter split, or a quoting loop quote. Played against everything that reads text.
 */
export const textShapes: Readonly<Record<string, (length: number) => string>> = {
  digits: (n) => '1'.repeat(n),
  'digits and a letter': (n) => `${'1'.repeat(n)}x`,
  letters: (n) => 'a'.repeat(n),
  'letters and a sign': (n) => `${'a'.repeat(n)}!`,
  dots: (n) => `${'1.'.repeat(n / 2)}x`,
  dashes: (n) => 'a-'.repeat(n / 2),
  spaces: (n) => `a${' '.repeat(n)}b`,
  commas: (n) => 'a,'.repeat(n / 2),
  terms: (n) => repeated((i) => `k${i}=v,`, n),
  'weighted clauses': (n) => repeated((i) => `a/b${i};q=0.${i % 10},`, n),
  parameters: (n) => `application/json${repeated((i) => `;a${i}=b`, n)}`,
  slashes: (n) => 'a/'.repeat(n / 2),
  'open brackets': (n) => `a in ${'('.repeat(n)}`,
  'a long set': (n) => `k in (${repeated((i) => `v${i},`, n)}z)`,
  backslashes: (n) => '\\'.repeat(n),
  quotes: (n) => '"'.repeat(n),
  'hours and minutes': (n) => `${'1h1m'.repeat(n / 4)}x`,
  zeros: (n) => `${'0'.repeat(n)}1`,
  base64: (n) => `${'QUFB'.repeat(n / 4)}!`,
};

/** What a URL can hold: percent signs where it must. */
export function escaped(shape: (length: number) => string): (length: number) => string {
  // Escapes take three letters each: the whole is still about as long as it was asked to be.
  return (length) => {
    const sample = encodeURIComponent(shape(64));
    return encodeURIComponent(shape(Math.floor((length * 64) / Math.max(64, sample.length))));
  };
}

/** What a header can hold. */
export function printable(text: string): string {
  return text.trim();
}

/** Pieces until they are about so long together. */
export function repeated(piece: (i: number) => string, length: number): string {
  const pieces: string[] = [];
  for (let [i, sum] = [0, 0]; sum < length; i++) {
    const next = piece(i);
    pieces.push(next);
    sum += next.length;
  }
  return pieces.join('');
}

/** Of an object, in whatever format. */
export const MOST_MEMBERS = 65_000;

/** So many, from 0 on. */
export function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: Math.floor(count) }, (_, i) => make(i));
}
