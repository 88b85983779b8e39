/**
 * Amounts as specs write them: `500m`, `1.5Gi`, `1e3`. Exact, on bigint; nothing is ever a float.
 *
 * A Quantity is immutable and remembers which family of suffixes it was written in, since it is printed in that family
 * again; one that was written as it would be printed, or nearly so (`+5`, `1.250`), keeps its text. Finer than a
 * billionth is rounded away from zero, and powers of two end at 2^63-1, both as kube-apiserver does it. It fails with a
 * QuantityError in kube-apiserver's words; exponents beyond a thousand, which that takes, are refused.
 */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const formatText = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const numberText = 'unable to parse numeric part of quantity';
const suffixText = "unable to parse quantity's suffix";

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const decimalNames: ReadonlyMap<number, string> = new Map([...decimalSuffixes].map(([name, power]) => [power, name]));
const binaryNames = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const largest = 2n ** 63n - 1n;
/** No honest amount is longer, and longer ones would only keep the processor busy. */
const limitCharacters = 512;
const limitExponent = 1000;

export class Quantity {
  /** The amount is `unscaled` times ten to the power of `scale`. */
  readonly unscaled: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
  /** The text it keeps; the others are printed anew. */
  readonly #text: string | undefined;

  constructor(unscaled: bigint, scale: number, format: QuantityFormat, text?: string) {
    this.unscaled = unscaled;
    this.scale = scale;
    this.format = format;
    this.#text = text;
  }

  get isZero(): boolean {
    return this.unscaled === 0n;
  }

  /** -1, 0 or 1. */
  get sign(): number {
    return this.unscaled === 0n ? 0 : this.unscaled < 0n ? -1 : 1;
  }

  /** Negative if this is less than `other`, 0 if equal, positive if more. */
  compare(other: Quantity): number {
    if (other === this) return 0;
    const scale = Math.min(this.scale, other.scale);
    const [mine, theirs] = [this.#at(scale), other.#at(scale)];
    return mine === theirs ? 0 : mine < theirs ? -1 : 1;
  }

  /** In the format of this one, or of `other` if this is zero. */
  add(other: Quantity): Quantity {
    const scale = Math.min(this.scale, other.scale);
    return new Quantity(this.#at(scale) + other.#at(scale), scale, this.isZero ? other.format : this.format);
  }

  subtract(other: Quantity): Quantity {
    return this.add(other.negate());
  }

  negate(): Quantity {
    return new Quantity(-this.unscaled, this.scale, this.format);
  }

  /** The amount in units of ten to the power of `scale`, rounded away from zero: 0 for whole ones, -3 for thousandths. */
  toBigInt(scale = 0): bigint {
    return scale <= this.scale ? this.#at(scale) : divideAwayFromZero(this.unscaled, 10n ** BigInt(scale - this.scale));
  }

  /** As kube-apiserver prints it: no fraction, the largest suffix that leaves none. */
  toString(): string {
    if (this.#text !== undefined) return this.#text;
    if (this.isZero) return '0';
    const whole = this.format === 'BinarySI' ? this.#wholeAmount() : undefined;
    const isBinary = whole !== undefined && (whole >= 1024n || whole <= -1024n);
    return (isBinary ? binaryText(whole) : undefined) ?? this.#decimalText();
  }

  toJSON(): string {
    return this.toString();
  }

  #at(scale: number): bigint {
    if (scale === this.scale) return this.unscaled;
    return this.unscaled * 10n ** BigInt(this.scale - scale);
  }

  #wholeAmount(): bigint | undefined {
    if (this.scale >= 0) return this.#at(0);
    const unit = 10n ** BigInt(-this.scale);
    return this.unscaled % unit === 0n ? this.unscaled / unit : undefined;
  }

  #decimalText(): string {
    let [mantissa, exponent] = [this.unscaled, this.scale];
    while (mantissa % 10n === 0n) {
      mantissa /= 10n;
      exponent++;
    }
    const shown = Math.floor(exponent / 3) * 3;
    const digits = mantissa * 10n ** BigInt(exponent - shown);
    const suffix = this.format === 'DecimalExponent' ? undefined : decimalNames.get(shown); // there is none above E
    return `${digits}${suffix ?? (shown === 0 ? '' : `e${shown}`)}`;
  }
}

export const zeroQuantity: Quantity = new Quantity(0n, 0, 'DecimalSI');

// at most 512 characters: parseQuantity looks at the length first
const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;

/** No digits at all are a zero, as for kube-apiserver: `Ki`, `.`. */
export function parseQuantity(text: string): Quantity {
  const match = text.length <= limitCharacters ? pattern.exec(text) : null;
  if (!match || text === '') throw new QuantityError(formatText);
  const [, sign, integer = '', fraction = '', suffix = ''] = match;
  const { base, exponent, format } = readSuffix(suffix);
  const digits = `${integer.replace(/^0+/, '') || '0'}${fraction}`;
  const magnitude = BigInt(digits);
  const scale = -fraction.length + (base === 10 ? exponent : 0);
  const amount = base === 2 ? magnitude << BigInt(exponent) : magnitude;
  const signed = sign === '-' ? -amount : amount;
  if (scale >= -9 && hasRoom(base, exponent, digits.length, fraction.length)) {
    const isPrinted =
      base === 2 ? (magnitude & 7n) !== 0n : scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
    return new Quantity(signed, scale, format, isPrinted ? text : undefined);
  }
  if (integer === '' && fraction === '') throw new QuantityError(numberText);
  return bounded(signed, scale, format);
}

/** 5, 100m, 64Mi: most of what is written is so already. */
const canonical = /^(?:0|[1-9][0-9]{0,2}(?:[mkMGTP]|[KMGTP]i)?)$/;

/**
 * What kube-apiserver gives back for what a client wrote, a string or a number. That has been printed, stored and read
 * once more: a power of two that is left without its suffix (`1.5Ki`) is then an amount like any other.
 */
export function canonicalQuantity(written: string | number | bigint): string {
  const text = typeof written === 'string' ? written.trim() : String(written).replace('e+', 'e');
  return canonical.test(text) ? text : parseQuantity(parseQuantity(text).toString()).toString();
}

/** The sum of none is zero. */
export function sumQuantities(quantities: Iterable<Quantity>): Quantity {
  let sum = zeroQuantity;
  for (const quantity of quantities) sum = sum.add(quantity);
  return sum;
}

function readSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const binary = binaryNames.indexOf(suffix);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  const power = /^[eE]([-+]?\d+)$/.exec(suffix)?.[1];
  if (power === undefined || Math.abs(Number(power)) > limitExponent) throw new QuantityError(suffixText);
  return { base: 10, exponent: Number(power), format: 'DecimalExponent' };
}

/** Kube-apiserver keeps such amounts in a machine word, unbounded by their suffix; the others it bounds. */
function hasRoom(base: 2 | 10, exponent: number, digits: number, fractionDigits: number): boolean {
  if (base === 10) return digits <= 18;
  return fractionDigits === 0 && 15 - digits - (exponent * 3) / 10 - 1 >= 0;
}

function bounded(amount: bigint, scale: number, format: QuantityFormat): Quantity {
  const nanos = 10n ** 9n;
  const rounded =
    scale >= -9 ? amount * 10n ** BigInt(scale + 9) : divideAwayFromZero(amount, 10n ** BigInt(-9 - scale));
  if (format !== 'BinarySI') return new Quantity(rounded, -9, format);
  // Only what is written in powers of two ends at a machine word.
  if (rounded > largest * nanos) return new Quantity(largest, 0, format);
  if (rounded < -largest * nanos) return new Quantity(-largest, 0, format);
  const isFraction = rounded !== 0n && rounded < nanos && rounded > -nanos;
  return new Quantity(rounded, -9, isFraction ? 'DecimalSI' : format);
}

function divideAwayFromZero(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  if (value % by === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}

/** Undefined past Ei: what has no suffix would not be read back. */
function binaryText(whole: bigint): string | undefined {
  let [mantissa, power] = [whole, 0];
  while (mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    power++;
  }
  const suffix = binaryNames[power];
  return suffix === undefined ? undefined : `${mantissa}${suffix}`;
}
