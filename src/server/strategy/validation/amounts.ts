/**
 * Quantities that were read before: specs say the same few amounts again and again, and reading one costs more than
 * all else that is checked about it. Kept by their text, a bounded number of short ones; a Quantity never changes.
 */
import { type JsonObject, parseQuantity, Quantity } from '../../../api/index.ts';
import { ownValue, setKey } from '../../codec/json/json-objects.ts';
import { objectAt } from './fields.ts';

const LIMIT = 1000;
const LIMIT_CHARACTERS = 20;
const known = new Map<string, Quantity>();

/** Fails as `parseQuantity` does. */
export function quantityOf(text: string): Quantity {
  let quantity = known.get(text);
  if (quantity) return quantity;
  quantity = parseQuantity(text);
  if (text.length > LIMIT_CHARACTERS) return quantity;
  if (known.size === LIMIT) known.clear(); // whoever is still in use comes back at once
  known.set(text, quantity);
  return quantity;
}

/** Those of an object that says what it requests and what it is limited to. */
export function roundResources(resources: JsonObject | undefined): void {
  for (const part of ['limits', 'requests']) roundAmounts(objectAt(resources, part));
}

/** Lists of resources count in thousandths: what is finer is rounded up, in place. */
export function roundAmounts(amounts: JsonObject | undefined): void {
  for (const name of Object.keys(amounts ?? {})) {
    const amount = ownValue(amounts!, name);
    const quantity = quantityOf(String(amount ?? '0'));
    if (quantity.scale >= -3) continue;
    const rounded = new Quantity(quantity.toBigInt(-3), -3, quantity.format).toString();
    if (rounded !== amount) setKey(amounts!, name, rounded);
  }
}
