/** `"%s has %d".format([a, b])`: values put into a text. Charged for the text, and for every value before it is put in. */
import { type Budget, traversal } from '../values/budget.ts';
import { CelError, Duration, kindOf, Timestamp, TypeValue, Uint, type Value } from '../values/values.ts';
import { doubleText, durationText, timestampText } from './conversions.ts';

const LIMIT_DIGITS = 100;

/** `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X`, `%o`, `%%`. */
export function formatText(text: string, values: readonly Value[], budget: Budget): string {
  budget.charge(5 + traversal(text.length));
  let at = 0;
  return text.replace(/%(?:\.(\d{1,4}))?(.|$)/gsu, (_whole, digits: string | undefined, verb: string) => {
    if (verb === '%') return '%';
    if (at >= values.length) throw new CelError(`index ${at} out of range`);
    const made = formatted(verb, values[at++], Number(digits ?? 6), budget);
    budget.charge(3 + traversal(made.length));
    return made;
  });
}

function formatted(verb: string, value: Value, digits: number, budget: Budget): string {
  if (digits > LIMIT_DIGITS) throw new CelError(`precision ${digits} is too large`);
  switch (verb) {
    case 's':
      return shown(value, budget);
    case 'd':
      return typeof value === 'number' ? doubleText(value) : String(whole(value, 'decimal'));
    case 'f':
    case 'e': {
      const number = typeof value === 'number' ? value : Number(whole(value, 'fixed-point'));
      if (!Number.isFinite(number)) return doubleText(number);
      return verb === 'f' ? number.toFixed(digits) : number.toExponential(digits);
    }
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : whole(value, 'binary').toString(2);
    case 'o':
      return whole(value, 'octal').toString(8);
    case 'x':
    case 'X': {
      const hex = hexOf(value, budget);
      return verb === 'x' ? hex : hex.toUpperCase();
    }
    default:
      throw new CelError(`unrecognized formatting clause "${verb}"`);
  }
}

function hexOf(value: Value, budget: Budget): string {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return whole(value, 'hex').toString(16);
  budget.charge(2 * traversal(value.length));
  return Buffer.from(value as string).toString('hex');
}

function whole(value: Value, clause: string): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw new CelError(
    `error during formatting: ${clause} clause can only be used on integers, was given ${kindOf(value)}`,
  );
}

function shown(value: Value, budget: Budget): string {
  budget.charge(3);
  switch (typeof value) {
    case 'string':
      budget.charge(traversal(value.length));
      return value;
    case 'number':
      return doubleText(value);
    case 'boolean':
    case 'bigint':
      return String(value);
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.map((one) => shown(one, budget)).join(', ')}]`;
  if (value instanceof Map) {
    const parts = [...value].map(([key, one]) => `${shown(key, budget)}: ${shown(one, budget)}`);
    return `{${parts.sort().join(', ')}}`;
  }
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Uint8Array) {
    budget.charge(traversal(value.length));
    return Buffer.from(value).toString('utf8');
  }
  throw new CelError(`error during formatting: string clause cannot be used on ${kindOf(value)}`);
}
