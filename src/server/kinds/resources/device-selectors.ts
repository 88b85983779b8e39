/**
 * Expressions that select devices: they are compiled when they are written, so that what cannot be read, names what there
 * is not, gives no verdict or may cost too much is refused in kube-apiserver's words. Nothing is selected here.
 *
 * What an expression may cost at most follows from how much a device may say: so many attributes and capacities, of
 * names and values so long.
 */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooLong,
} from '../../../api/index.ts';
import { compileCosted } from '../../cel/program.ts';
import { ExpressionError } from '../../cel/syntax/syntax.ts';
import { bool, type CelType, mapOf, readType, string, typeName } from '../../cel/values/types.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { type Check, listOf, struct } from '../../strategy/validation/field-table.ts';
import { isObject, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { MAX_LIST, MAX_PARAMETERS_BYTES } from './device-checks.ts';

const MOST_COST = 1_000_000;
const MOST_DOMAIN_CHARACTERS = 63;
const MOST_NAME_CHARACTERS = 32;
const MOST_VALUE_CHARACTERS = 64;

/** What is wrong with an expression that stands at a path, undefined if nothing is. */
export type Verdict = (path: string) => FieldError;
/** Of expressions that were looked at together. */
export type Verdicts = ReadonlyMap<string, Verdict | undefined>;

/** An attribute is a bool, a number, a text or a version: nobody knows which. Told apart from `dyn(...)` by identity. */
const attribute: CelType = { kind: 'dyn' };
const deviceFields: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['driver', string],
  ['allowMultipleAllocations', bool],
  ['attributes', mapOf(string, mapOf(string, attribute))],
  ['capacity', mapOf(string, mapOf(string, readType('Quantity')))],
]);
const variables = [
  { name: 'device', type: { kind: 'object', name: 'kubernetes.DRADevice', fields: deviceFields } },
] as const;

/** The lengths of what stands at a path, from outside in: a map of maps of values, with the keys of each. */
const entryLengths = (value: number): readonly [length: number, key: number][] => [
  [MAX_LIST, MOST_DOMAIN_CHARACTERS],
  [MAX_LIST, MOST_NAME_CHARACTERS],
  [value, 0],
];
const lengths = new Map([
  ['attributes', entryLengths(MOST_VALUE_CHARACTERS)],
  ['capacity', entryLengths(0)],
]);

function lengthAt(path: readonly string[]): number | undefined {
  const [root, field, ...steps] = path;
  if (root !== 'device') return undefined;
  if (field === undefined || field === 'allowMultipleAllocations') return 0;
  if (field === 'driver') return steps.length === 0 ? MOST_DOMAIN_CHARACTERS : undefined;
  const levels = lengths.get(field);
  const keys = steps.indexOf('@keys');
  if (keys >= 0) return keys === steps.length - 1 ? levels?.[keys]?.[1] : undefined;
  return levels?.[steps.length]?.[0];
}

/** `verdicts`: those of the expressions; without them they have been accepted before. */
export function selectors(verdicts?: Verdicts): Check {
  const expression: Check = (value, path) => {
    const verdict = verdicts?.get(typeof value === 'string' ? value : '');
    return verdict ? [verdict(path)] : [];
  };
  const selector = struct([['cel.expression', expression]], (value, path) =>
    isObject((value as JsonObject).cel) ? [] : [requiredValue(`${path}.cel`)],
  );
  return listOf(selector, { atMost: MAX_LIST });
}

/** Each expression once, with turns for others in between. */
export async function judgeSelectors(selectors: readonly JsonObject[]): Promise<Verdicts> {
  const verdicts = new Map<string, Verdict | undefined>();
  const slices = new WorkSlices();
  for (const selector of selectors) {
    const text = textAt(objectAt(selector, 'cel'), 'expression');
    if (!verdicts.has(text)) verdicts.set(text, judge(text));
    if (slices.isOver) await slices.pause();
  }
  return verdicts;
}

/** Those of all requests of a claim, also of those of which one will do. */
export function selectorsOf(devices: JsonObject | undefined): JsonObject[] {
  return objectsAt(devices, 'requests').flatMap((request) => {
    const exactly = objectAt(request, 'exactly');
    const parts = [...(exactly ? [exactly] : []), ...objectsAt(request, 'firstAvailable')];
    return parts.flatMap((part) => objectsAt(part, 'selectors'));
  });
}

function judge(text: string): Verdict | undefined {
  if (Buffer.byteLength(text) > MAX_PARAMETERS_BYTES) return (path) => tooLong(path, MAX_PARAMETERS_BYTES);
  try {
    const { program, mostCost } = compileCosted(text, variables);
    if (program.type.kind !== 'bool' && program.type !== attribute) {
      const why = `must evaluate to bool or the unknown type, not ${typeName(program.type)}`;
      return (path) => invalidValue(path, text, why);
    }
    if (mostCost(lengthAt) <= MOST_COST) return undefined;
    return (path) => forbiddenValue(path, 'too complex, exceeds cost limit');
  } catch (err) {
    if (!(err instanceof ExpressionError)) throw err;
    const why = `compilation failed: ${err.message}`;
    return (path) => invalidValue(path, text, why);
  }
}
