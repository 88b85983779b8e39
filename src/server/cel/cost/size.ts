/**
 * How many characters, bytes, elements or entries a value may have: between `min` and `max`, Infinity where nobody knows.
 * Sums and products of these stay numbers: nothing times anything is nothing. Pure.
 */
export type Size = { readonly min: number; readonly max: number };

export const UNKNOWN: Size = { min: 0, max: Number.POSITIVE_INFINITY };
export const ONE: Size = { min: 1, max: 1 };

export function exactly(count: number): Size {
  return { min: count, max: count };
}

export function plus(a: Size, b: Size): Size {
  return { min: a.min + b.min, max: a.max + b.max };
}

export function times(a: Size, b: Size): Size {
  return { min: product(a.min, b.min), max: product(a.max, b.max) };
}

/** The smallest range that holds both. */
export function either(a: Size, b: Size): Size {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

export function product(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

/** What it costs at most to go through a text or bytes, or through one that long `by` times. */
export function walk({ max }: Size, by = 1): number {
  return Math.ceil(max * by * 0.1);
}
