/**
 * Amounts as specs write them: `500m`, `1.5Gi`, `1e3`. Exact, on bigint; nothing is ever a float.
 *
 * A Quantity is immutable and remembers which family of suffixes it was written in, since it is printed in that family
 * again. Finer than a billionth is rounded away from zero, and what is written with more digits than a machine word
 * holds is cut at 2^63-1, both as the reference server does it. It fails with a QuantityError.
 */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const formatText = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
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

  constructor(unscaled: bigint, scale: number, format: QuantityFormat) {
    this.unscaled = unscaled;
    this.scale = scale;
    this.format = format;
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

  /** The amount in units of ten to the power of `scale`, rounded up: 0 for whole ones, -3 for thousandths. */
  toBigInt(scale = 0): bigint {
    return scale <= this.scale ? this.#at(scale) : divideUp(this.unscaled, 10n ** BigInt(scale - this.scale));
  }

  /** As the server prints it: no fraction, the largest suffix that leaves none. */
  toString(): string {
    if (this.isZero) return '0';
    const whole = this.format === 'BinarySI' ? this.#wholeAmount() : undefined;
    if (whole !== undefined && (whole >= 1024n || whole <= -1024n)) return binaryText(whole);
    return this.#decimalText();
  }

  toJSON(): string {
    return this.toString();
  }

  #at(scale: number): bigint {
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
    const lowest = this.format === 'DecimalExponent' ? exponent : Math.min(exponent, 18); // there is no suffix above E
    const shown = Math.floor(lowest / 3) * 3;
    const digits = mantissa * 10n ** BigInt(exponent - shown);
    if (this.format === 'DecimalExponent') return shown === 0 ? `${digits}` : `${digits}e${shown}`;
    return `${digits}${decimalNames.get(shown) ?? ''}`;
  }
}

export const zeroQuantity: Quantity = new Quantity(0n, 0, 'DecimalSI');

// at most 512 characters: parseQuantity looks at the length first
const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;

export function parseQuantity(text: string): Quantity {
  const match = text.length <= limitCharacters ? pattern.exec(text) : null;
  if (!match || text === '') throw new QuantityError(formatText);
  const [, sign, integer = '', fraction = '', suffix = ''] = match;
  if (integer === '' && fraction === '' && suffix !== '') throw new QuantityError(formatText);
  const { base, exponent, format } = readSuffix(suffix);
  const digits = integer.replace(/^0+/, '') || '0';
  const magnitude = BigInt(digits + fraction);
  const scale = -fraction.length + (base === 10 ? exponent : 0);
  const amount = base === 2 ? magnitude << BigInt(exponent) : magnitude;
  const isShort = hasRoom(base, exponent, digits.length, fraction.length) && scale >= -9;
  return withSign(isShort ? new Quantity(amount, scale, format) : bounded(amount, scale, format), sign === '-');
}

/** The printed form of what a client wrote, a string or a number. */
export function canonicalQuantity(written: string | number): string {
  return parseQuantity(String(written).trim()).toString();
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

/** The reference server keeps such amounts in a machine word, unbounded by their suffix; the others it bounds. */
function hasRoom(base: 2 | 10, exponent: number, digits: number, fractionDigits: number): boolean {
  if (base === 10) return digits + fractionDigits <= 18;
  return fractionDigits === 0 && 15 - digits - Math.trunc((exponent * 3) / 10) - 1 >= 0;
}

function bounded(magnitude: bigint, scale: number, format: QuantityFormat): Quantity {
  const nanos = 10n ** 9n;
  const amount = scale >= -9 ? magnitude * 10n ** BigInt(scale + 9) : divideUp(magnitude, 10n ** BigInt(-9 - scale));
  // Only what is written in powers of two ends at a machine word.
  if (format === 'BinarySI' && amount > largest * nanos) return new Quantity(largest, 0, format);
  const isFraction = amount > 0n && amount < nanos;
  return new Quantity(amount, -9, format === 'BinarySI' && isFraction ? 'DecimalSI' : format);
}

function withSign(quantity: Quantity, isNegative: boolean): Quantity {
  return isNegative ? quantity.negate() : quantity;
}

function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value > 0n && value % by !== 0n ? quotient + 1n : quotient;
}

function binaryText(whole: bigint): string {
  let [mantissa, power] = [whole, 0];
  while (mantissa % 1024n === 0n && power < binaryNames.length - 1) {
    mantissa /= 1024n;
    power++;
  }
  return `${mantissa}${binaryNames[power]}`;
}
