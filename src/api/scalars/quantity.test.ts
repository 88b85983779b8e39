import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { canonicalQuantity, parseQuantity, QuantityError, sumQuantities } from './quantity.ts';

const formatText = 'quantities must match the regular expression';
const numberText = 'unable to parse numeric part of quantity';
const suffixText = "unable to parse quantity's suffix";

describe('canonicalQuantity()', () => {
  it.each<[written: string | number | bigint, want: string]>([
    ['0', '0'],
    ['0Gi', '0'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['2048Mi', '2Gi'],
    ['1.5Gi', '1536Mi'],
    ['100Ki', '100Ki'],
    ['0.5Ki', '512'],
    ['381437.5Ki', '390592k'], // printed as 390592000, and then no power of two any more
    ['0.1Ki', '102400m'],
    ['-2Ki', '-2Ki'],
    ['1536', '1536'],
    ['1000', '1k'],
    ['1500000', '1500k'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['10e2', '1e3'],
    ['1e-3', '1e-3'],
    ['1.5e-9', '2e-9'],
    ['1e30', '1e30'],
    ['1e-30', '1e-9'],
    ['+.5', '500m'],
    ['-1.5', '-1500m'],
    ['12E', '12E'],
    ['100E', '100E'],
    ['1000E', '1e21'], // there is no suffix above E
    ['1n', '1n'],
    ['3.001n', '4n'],
    ['0.0000000001', '1n'],
    ['-0.0000000001', '-1n'],
    ['.000000000001Ki', '2n'],
    ['7Ei', '7Ei'],
    ['9Ei', '9223372036854775807'],
    ['-9Ei', '-9223372036854775807'],
    ['9223372036854775807Ki', '9223372036854775807'],
    ['9223372036854775808', '9223372036854775808'],
    ['12345678901234567890', '12345678901234567890'],
    [0.25, '250m'],
    [1000, '1k'],
    [1e21, '1e21'],
    [2n ** 63n, '9223372036854775808'],
    [' 1 ', '1'],
  ])('%s is %s', (written, want) => expect(canonicalQuantity(written)).toBe(want));

  it.each(['+1', '001', '1.', '1.250', '1E3', '+3Ki', '0001Ki', '1.234567M'])(
    'keeps %j, which kube-apiserver takes to be printed already',
    (text) => expect(canonicalQuantity(text)).toBe(text),
  );

  it.each(['m', 'Ki', '.', '-', '+.', 'e3', '00'])('%j has no digit but zeros, and is zero', (text) =>
    expect(canonicalQuantity(text)).toBe('0'),
  );

  it.each([
    ['', formatText],
    ['lots', formatText],
    ['1.1.1', formatText],
    ['1Gi!', formatText],
    ['1gi', formatText],
    ['1Kib', formatText],
    ['1 Gi', formatText],
    ['9'.repeat(1000), formatText],
    ['1mi', suffixText],
    ['1e', suffixText],
    ['1+1', suffixText],
    ['--1', suffixText],
    ['1e99999', suffixText],
    ['Ei', numberText],
    ['.e-12', numberText],
  ])('refuses %j', (written, message) => {
    expect(() => canonicalQuantity(written)).toThrow(QuantityError);
    expect(() => canonicalQuantity(written)).toThrow(message);
  });

  it.each<[what: string, make: (size: number) => string]>([
    ['digits', (size) => '1'.repeat(size)],
    ['a fraction', (size) => `1.${'0'.repeat(size)}`],
    ['two fractions', (size) => `${'1'.repeat(size)}.${'1'.repeat(size)}.`],
    ['an exponent', (size) => `1e${'1'.repeat(size)}`],
    ['spaces', (size) => `${' '.repeat(size)}1${' '.repeat(size)}`],
  ])('reads %s in time in proportion to the length', async (_what, make) => {
    const run = (text: string) => {
      try {
        canonicalQuantity(text);
      } catch (err) {
        expect((err as Error).message.length).toBeLessThan(2_000);
      }
    };
    await expectLinear('reading it', { make, run, from: 16_000, limit: 64_000 });
  });
});

/**
 * The rules, in whole billionths: the amount that a text stands for, rounded away from zero, and bounded if it is written
 * in powers of two.
 */
const SI = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const LARGEST = (2n ** 63n - 1n) * 10n ** 9n;

function nanosOf({ sign, whole, fraction, suffix }: Written): bigint {
  const exponent = /^[eE](.+)/.exec(suffix)?.[1];
  const power = exponent === undefined ? SI.indexOf(suffix) * 3 - 9 : Number(exponent);
  const binary = BINARY.indexOf(suffix);
  const factor = binary > 0 ? 1024n ** BigInt(binary) * 10n ** 9n : 10n ** BigInt(Math.max(power + 9, 0));
  const divisor = 10n ** BigInt(fraction.length + (binary > 0 ? 0 : Math.max(-power - 9, 0)));
  const product = BigInt(whole + fraction) * factor;
  const rounded = product / divisor + (product % divisor === 0n ? 0n : 1n);
  const size = binary > 0 && rounded > LARGEST ? LARGEST : rounded;
  return sign === '-' ? -size : size;
}

type Written = { sign: string; whole: string; fraction: string; suffix: string };
const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });
const written: fc.Arbitrary<Written> = fc.record({
  sign: fc.constantFrom('', '+', '-'),
  whole: fc.oneof(digits(1, 4), digits(1, 25), fc.constantFrom('1000', '1024', '524288', '9223372036854775807')),
  fraction: fc.oneof(fc.constant(''), digits(1, 3), digits(1, 15)),
  suffix: fc.oneof(
    fc.constantFrom(...SI, ...BINARY),
    fc.tuple(fc.constantFrom('e', 'E'), fc.integer({ min: -40, max: 40 })).map(([e, power]) => `${e}${power}`),
  ),
});
const textOf = ({ sign, whole, fraction, suffix }: Written) =>
  `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${suffix}`;
const familyOf = (suffix: string) =>
  BINARY.indexOf(suffix) > 0 ? 'BinarySI' : /^[eE]./.test(suffix) ? 'DecimalExponent' : 'DecimalSI';

describe('Quantity', () => {
  const nanos = (text: string) => parseQuantity(text).toBigInt(-9);
  const many = { numRuns: 1000 };

  it('is the amount that the text stands for', () => {
    fc.assert(
      fc.property(written, (one) => {
        expect(nanos(textOf(one))).toBe(nanosOf(one));
      }),
      many,
    );
  });

  it('prints what reads back as the same amount, and prints that the same', () => {
    fc.assert(
      fc.property(written, (one) => {
        const shown = parseQuantity(textOf(one)).toString();
        expect(nanos(shown)).toBe(nanosOf(one));
        const stored = canonicalQuantity(textOf(one));
        expect(nanos(stored)).toBe(nanosOf(one));
        expect(canonicalQuantity(stored)).toBe(stored);
      }),
      many,
    );
  });

  it('prints a whole number with the largest suffix of its family that leaves no fraction', () => {
    fc.assert(
      fc.property(written, (one) => {
        const text = textOf(one);
        const quantity = parseQuantity(text);
        const shown = quantity.toString();
        if (shown === text || shown === '0') return; // it kept its text
        const [, mantissa, suffix] = /^(-?\d+)(.*)$/.exec(shown)!;
        const size = BigInt(mantissa!);
        if (BINARY.indexOf(suffix!) > 0) {
          expect(familyOf(one.suffix)).toBe('BinarySI');
          expect(suffix === 'Ei' || size % 1024n !== 0n).toBe(true);
        } else if (familyOf(one.suffix) === 'BinarySI') {
          const amount = nanosOf(one);
          const isWhole = amount % 10n ** 9n === 0n && (amount >= 1024n * 10n ** 9n || amount <= -1024n * 10n ** 9n);
          expect(isWhole ? suffix === '' && size % 1024n !== 0n : size % 1000n !== 0n).toBe(true);
        } else {
          expect(size % 1000n).not.toBe(0n);
          const isBeyond = Number(/^e(.+)/.exec(suffix!)?.[1] ?? 0) > 18;
          if (!isBeyond && suffix !== '') expect(familyOf(suffix!)).toBe(familyOf(one.suffix));
        }
      }),
      many,
    );
  });

  it('adds, subtracts and compares as whole billionths do', () => {
    fc.assert(
      fc.property(written, written, (a, b) => {
        const [x, y] = [parseQuantity(textOf(a)), parseQuantity(textOf(b))];
        expect(x.add(y).toBigInt(-9)).toBe(nanosOf(a) + nanosOf(b));
        expect(x.subtract(y).toBigInt(-9)).toBe(nanosOf(a) - nanosOf(b));
        expect(Math.sign(x.compare(y))).toBe(nanosOf(a) < nanosOf(b) ? -1 : nanosOf(a) > nanosOf(b) ? 1 : 0);
      }),
    );
  });

  it('sums in the format of the first that is not zero', () => {
    const sum = (...texts: string[]) => sumQuantities(texts.map(parseQuantity)).toString();
    expect([sum(), sum('512Mi', '512Mi'), sum('0', '1Gi', '1k'), sum('500m', '1.5')]).toEqual([
      '0',
      '1Gi',
      '1073742824',
      '2',
    ]);
    expect(sum(...Array<string>(1024).fill('1Ei'))).toBe('1180591620717411303424'); // past the last suffix
    expect(sum('+1', '+1')).toBe('2');
  });

  it('rounds away from zero to the unit asked for', () => {
    expect(parseQuantity('1100m').toBigInt()).toBe(2n);
    expect(parseQuantity('-1100m').toBigInt()).toBe(-2n);
    expect(parseQuantity('1.5').toBigInt(-3)).toBe(1500n);
    expect([parseQuantity('-1').sign, parseQuantity('0').sign, parseQuantity('1m').sign]).toEqual([-1, 0, 1]);
  });
});
