/** Amounts such as `500Mi`, as kube-apiserver's library has them. */
import { parseQuantity, Quantity, QuantityError } from '../../../api/index.ts';
import { traversal } from '../values/budget.ts';
import { CelError, Opaque } from '../values/values.ts';
import { checkedInt } from './operators.ts';
import type { Functions } from './overloads.ts';
import { withoutStack } from './without-stack.ts';

class Amount extends Opaque {
  readonly typeName = 'Quantity';
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  same(other: Amount): boolean {
    return this.quantity.compare(other.quantity) === 0;
  }

  /** Equal amounts are one text, however they were written. */
  override toString(): string {
    let { unscaled, scale } = this.quantity;
    if (unscaled === 0n) return '0';
    for (; unscaled % 10n === 0n; unscaled /= 10n) scale++;
    return `${unscaled}e${scale}`;
  }
}

/** Amounts are read part by part, into numbers of any length: as long as so many steps of anything else. */
const reading = (text: string) => 25 + traversal(text.length);
const ARITHMETIC = 10;
/** Amounts of very different size meet as numbers of that many digits. */
const apart = (a: Amount, b: Amount) => ARITHMETIC + traversal(Math.abs(a.quantity.scale - b.quantity.scale));
const digits = ({ quantity }: Amount) => ARITHMETIC + traversal(Math.abs(quantity.scale));

export function declareQuantities(functions: Functions): void {
  functions
    .declare('quantity(string): Quantity', reading, read)
    .declare('isQuantity(string): bool', reading, isAmount)
    .declare('Quantity.sign(): int', 1, ({ quantity }: Amount) => BigInt(quantity.sign))
    .declare(
      'Quantity.isGreaterThan(Quantity): bool',
      apart,
      (a: Amount, b: Amount) => a.quantity.compare(b.quantity) > 0,
    )
    .declare('Quantity.isLessThan(Quantity): bool', apart, (a: Amount, b: Amount) => a.quantity.compare(b.quantity) < 0)
    .declare('Quantity.compareTo(Quantity): int', apart, (a: Amount, b: Amount) =>
      BigInt(Math.sign(a.quantity.compare(b.quantity))),
    )
    .declare(
      'Quantity.add(Quantity): Quantity',
      apart,
      (a: Amount, b: Amount) => new Amount(a.quantity.add(b.quantity)),
    )
    .declare(
      'Quantity.sub(Quantity): Quantity',
      apart,
      (a: Amount, b: Amount) => new Amount(a.quantity.subtract(b.quantity)),
    )
    .declare('Quantity.add(int): Quantity', digits, (a: Amount, b: bigint) => new Amount(a.quantity.add(whole(b))))
    .declare('Quantity.sub(int): Quantity', digits, (a: Amount, b: bigint) => new Amount(a.quantity.subtract(whole(b))))
    .declare('Quantity.isInteger(): bool', digits, ({ quantity }: Amount) => isWhole(quantity))
    .declare('Quantity.asInteger(): int', digits, ({ quantity }: Amount) => {
      if (!isWhole(quantity)) throw new CelError('cannot convert value to integer');
      return checkedInt(quantity.toBigInt());
    })
    .declare(
      'Quantity.asApproximateFloat(): double',
      1,
      ({ quantity }: Amount) => Number(quantity.unscaled) * 10 ** quantity.scale,
    );
}

function read(text: string): Amount {
  try {
    return withoutStack(() => new Amount(parseQuantity(text)));
  } catch (err) {
    if (err instanceof QuantityError) throw new CelError(err.message);
    throw err;
  }
}

function isAmount(text: string): boolean {
  try {
    withoutStack(() => parseQuantity(text));
    return true;
  } catch (err) {
    if (err instanceof QuantityError) return false;
    throw err;
  }
}

function whole(value: bigint): Quantity {
  return new Quantity(value, 0, 'DecimalSI');
}

function isWhole(value: Quantity): boolean {
  return value.compare(new Quantity(value.toBigInt(), 0, value.format)) === 0;
}
