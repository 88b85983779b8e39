/**
 * Resource quantities in canonical form: the text the reference server gives back for what it was sent.
 *
 * A quantity is a decimal number with a suffix: binary (`Ki`, `Mi`, …), decimal (`m`, `k`, `M`, …) or an exponent
 * (`e3`). The canonical form keeps the kind of suffix, has no fraction and takes the largest suffix that allows
 * that; what is finer than a nano unit is rounded up. Exact: numbers are counted in bigint nano units.
 */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const form = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?$/;
const canonical = /^(?:0|[1-9][0-9]{0,2}(?:[mkMGTP]|[KMGTP]i)?)$/;
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimalSuffixes = new Map([
  [-9, 'n'],
  [-6, 'u'],
  [-3, 'm'],
  [0, ''],
  [3, 'k'],
  [6, 'M'],
  [9, 'G'],
  [12, 'T'],
  [15, 'P'],
  [18, 'E'],
]);
const decimalExponents: ReadonlyMap<string, number> = new Map(
  [...decimalSuffixes].map(([exponent, s]) => [s, exponent]),
);
const nano = 10n ** 9n;
const maxExponent = 40;

export function canonicalQuantity(text: string): string {
  if (canonical.test(text)) return text; // 5, 100m, 64Mi: most of what is sent
  const found = form.exec(text);
  if (!found || (found[2] === '' && (found[3] ?? '') === '')) throw badQuantity();
  const [, sign, whole = '', fraction = '', suffix = ''] = found;
  const isBinary = suffix.length === 2 && suffix[1] === 'i';
  const isExponent = /^[eE]./.test(suffix) && !isBinary;
  let exponent = isExponent ? Number(suffix.slice(1)) : (decimalExponents.get(suffix) ?? 0);
  if (Math.abs(exponent) > maxExponent) exponent = Math.sign(exponent) * maxExponent;
  if (whole.length + fraction.length > 100) throw badQuantity();
  let nanos = toNanos(whole + fraction, exponent - fraction.length);
  if (isBinary) nanos = toNanosBinary(whole + fraction, fraction.length, binarySuffixes.indexOf(suffix));
  if (nanos === 0n) return '0';
  const minus = sign === '-' ? '-' : '';
  // What has no binary suffix would be read as decimal the next time, so it is written so at once.
  if (isBinary && nanos % (1024n * nano) === 0n) return minus + inBinary(nanos / nano);
  return minus + inDecimal(nanos, isExponent);
}

/** `digits` times ten to the `exponent`, in nanos, rounded away from zero. */
function toNanos(digits: string, exponent: number): bigint {
  const value = BigInt(digits || '0');
  const shift = exponent + 9;
  if (shift >= 0) return value * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (value + divisor - 1n) / divisor;
}

function toNanosBinary(digits: string, fractionDigits: number, power: number): bigint {
  const scaled = BigInt(digits || '0') * 1024n ** BigInt(power) * nano;
  const divisor = 10n ** BigInt(fractionDigits);
  return (scaled + divisor - 1n) / divisor;
}

function inBinary(units: bigint): string {
  let power = 0;
  let rest = units;
  while (rest % 1024n === 0n && power < binarySuffixes.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function inDecimal(nanos: bigint, isExponent: boolean): string {
  let exponent = -9;
  let rest = nanos;
  while (rest % 1000n === 0n && exponent < 18) {
    rest /= 1000n;
    exponent += 3;
  }
  if (isExponent) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${decimalSuffixes.get(exponent)}`;
}

function badQuantity(): QuantityError {
  return new QuantityError(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
}
