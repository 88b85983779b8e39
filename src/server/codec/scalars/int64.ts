/**
 * Integers as Go keeps them: 64 bits, exactly. A JavaScript number is exact up to 2^53; beyond that an integer is a bigint,
 * and only beyond that, so that there is one form for each. What 64 bits cannot hold is a double, as Go reads it.
 */
const mostInt64 = 2n ** 63n - 1n;
const leastInt64 = -(2n ** 63n);
/** Any int64 has at most 19 digits and a sign; longer texts are not worth an exact number. */
const mostCharacters = 20;

/** The value of a plain decimal integer without leading zeros. */
export function exactInteger(text: string): number | bigint {
  const value = Number(text);
  if (Number.isSafeInteger(value) || text.length > mostCharacters) return value;
  const exact = BigInt(text);
  return isInt64(exact) ? exact : value;
}

/** A 64-bit integer in its one form. */
export function fromBigInt(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

export function isInt64(value: bigint): boolean {
  return value >= leastInt64 && value <= mostInt64;
}

/** A number as Go would have read it from the text: whole ones without an exponent. */
export function integerText(value: number | bigint): string {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21
    ? String(BigInt(value))
    : String(value);
}
