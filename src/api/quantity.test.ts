import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalQuantity, parseQuantity, QuantityError, sumQuantities } from './quantity.ts';

const formatText = 'quantities must match the regular expression';

describe('canonicalQuantity()', () => {
  it.each<[written: string | number, want: string]>([
    ['0', '0'],
    ['0Gi', '0'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['1024Mi', '1Gi'],
    ['2048Mi', '2Gi'],
    ['1.5Gi', '1536Mi'],
    ['1536', '1536'],
    ['1Ki', '1Ki'],
    ['512Ki', '512Ki'],
    ['0.1Ki', '102400m'],
    ['-2Ki', '-2Ki'],
    ['1000', '1k'],
    ['1500000', '1500k'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['1E6', '1e6'],
    ['1e-3', '1e-3'],
    ['+.5', '500m'],
    ['1.', '1'],
    ['-1.5', '-1500m'],
    ['100E', '100E'],
    ['1000E', '1000E'],
    ['1n', '1n'],
    ['0.0000000001', '1n'],
    ['-0.0000000001', '-1n'],
    ['9223372036854775808', '9223372036854775808'],
    ['12345678901234567890', '12345678901234567890'],
    [0.25, '250m'],
    [1000, '1k'],
    [' 1 ', '1'],
  ])('%j is %s', (written, want) => expect(canonicalQuantity(written)).toBe(want));

  it.each([
    ['', formatText],
    ['lots', formatText],
    ['1.1.1', formatText],
    ['Ki', formatText],
    ['1Gi!', formatText],
    ['9'.repeat(1000), formatText],
    ['1mi', "unable to parse quantity's suffix"],
    ['1e', "unable to parse quantity's suffix"],
    ['1e99999', "unable to parse quantity's suffix"],
  ])('refuses %j', (written, message) => {
    expect(() => canonicalQuantity(written)).toThrow(QuantityError);
    expect(() => canonicalQuantity(written)).toThrow(message);
  });
});

describe('Quantity', () => {
  const nanos = (text: string) => parseQuantity(text).toBigInt(-9);
  const written = fc
    .tuple(
      fc.integer({ min: -999_999, max: 999_999 }),
      fc.option(fc.integer({ min: 0, max: 999 }), { nil: undefined }),
      fc.constantFrom('', 'm', 'u', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-3'),
    )
    .map(([whole, fraction, suffix]) => `${whole}${fraction === undefined ? '' : `.${fraction}`}${suffix}`);

  it('prints what reads back as the same amount, and prints that the same', () => {
    fc.assert(
      fc.property(written, (text) => {
        const shown = parseQuantity(text).toString();
        expect(parseQuantity(shown).compare(parseQuantity(text))).toBe(0);
        expect(parseQuantity(shown).toString()).toBe(shown);
      }),
    );
  });

  it('adds, subtracts and compares as whole billionths do', () => {
    fc.assert(
      fc.property(written, written, (a, b) => {
        const [x, y] = [parseQuantity(a), parseQuantity(b)];
        expect(x.add(y).toBigInt(-9)).toBe(nanos(a) + nanos(b));
        expect(x.subtract(y).toBigInt(-9)).toBe(nanos(a) - nanos(b));
        expect(Math.sign(x.compare(y))).toBe(nanos(a) < nanos(b) ? -1 : nanos(a) > nanos(b) ? 1 : 0);
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
  });

  it('rounds up to the unit asked for', () => {
    expect(parseQuantity('1100m').toBigInt()).toBe(2n);
    expect(parseQuantity('-1100m').toBigInt()).toBe(-1n);
    expect(parseQuantity('1.5').toBigInt(-3)).toBe(1500n);
    expect([parseQuantity('-1').sign, parseQuantity('0').sign, parseQuantity('1m').sign]).toEqual([-1, 0, 1]);
  });
});
