import fc from 'fast-check';
import { expect, it } from 'vitest';
import { givenEmptyIn } from '../../api/given-empty.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { anyObjectOf } from './any-object.testing.ts';
import { type CheckedObject, checkOdd, TypeMismatchError } from './check-object.ts';
import { readClean } from './clean-object.ts';
import { cloneJson, isObject, setKey } from './json/json-objects.ts';
import { countMembers } from './json/json-reader.ts';

const kinds = builtInResources();
const schemaOf = (kind: string) => kinds.find((resource) => resource.kind === kind)!.schema;

/** Something else in the place of one value, or one more key: which, the numbers say. */
type Change = { readonly way: readonly number[]; readonly value: JsonValue; readonly key: string };

const anyChange: fc.Arbitrary<Change> = fc.record({
  way: fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
  value: fc.constantFrom<JsonValue>(null, '', 0, false, [], {}, 'x', 7, -0, 1.5, 2 ** 40, 2 ** 60, true, [null], {
    a: null,
  }),
  key: fc.constantFrom('', '', 'unknown', '__proto__', '0'),
});

function changed(object: JsonObject, changes: readonly Change[]): JsonObject {
  const copy = cloneJson(object);
  for (const { way, value, key } of changes) {
    let at: JsonObject = copy;
    for (const step of way) {
      const keys = Object.keys(at);
      const chosen = keys[step % Math.max(1, keys.length)];
      const below = chosen === undefined ? undefined : at[chosen];
      if (typeof below === 'object' && below !== null && step % 3 > 0) {
        at = below as JsonObject;
        continue;
      }
      const place = key === '' ? chosen : key;
      if (place !== undefined && !(Array.isArray(at) && key !== '')) setKey(at, place, cloneJson(value));
      break;
    }
  }
  return copy;
}

/** With the order of keys, and with what was sent empty. */
function shown(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(shown);
  if (!isObject(value)) return value;
  return { members: Object.keys(value).map((key) => [key, shown(value[key]!)]), empty: givenEmptyIn(value) };
}

function checked(value: JsonObject, kind: string): CheckedObject | undefined {
  try {
    return checkOdd(value, schemaOf(kind));
  } catch (err) {
    if (err instanceof TypeMismatchError) return undefined;
    throw err;
  }
}

it.each(kinds.map(({ kind }) => kind))(
  'readClean() makes of any %s what checkObject() makes of it, or nothing',
  (kind) => {
    const schema = schemaOf(kind);
    fc.assert(
      fc.property(anyObjectOf(schema, 5), fc.array(anyChange, { maxLength: 4 }), (object, changes) => {
        const value = changed(object, changes);
        const clean = readClean(value, schema);
        const own = readClean(cloneJson(value), schema, true);
        expect(own && shown(own.object)).toEqual(clean && shown(clean.object));
        expect(own?.members).toBe(clean?.members);
        if (!clean) return;
        const full = checked(value, kind);
        expect(full?.unknownFields).toEqual([]);
        expect(shown(clean.object)).toEqual(shown(full!.object));
        expect(clean.object === value).toBe(full!.object === value);
        expect(clean.members).toBe(countMembers(value));
      }),
      { numRuns: 60 },
    );
  },
);

it('readClean() reads what nearly everybody sends', () => {
  const resources = { limits: { cpu: '0.5', memory: '1Gi' }, requests: {} };
  const container = {
    name: 'c',
    image: 'i',
    resources,
    ports: [{ containerPort: 80, name: '' }],
    securityContext: null,
  };
  const metadata = { name: 'a', labels: { b: '2', a: '1' }, creationTimestamp: '2026-11-18T10:00:00+02:00' };
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata, spec: { containers: [container] } };
  expect(readClean(pod, schemaOf('Pod'))?.members).toBe(21);
  expect(readClean(pod, schemaOf('Pod'))?.object).toEqual(checkOdd(pod, schemaOf('Pod')).object);
});

it.each<[what: string, pod: JsonObject]>([
  ['an unknown field', { spec: { containers: [{ name: 'c', imag: 'i' }] } }],
  ['a value of another type', { spec: { containers: [{ name: 1 }] } }],
  ['a number that is too large', { spec: { priority: 2 ** 31 } }],
  ['a quantity that is none', { spec: { overhead: { cpu: 'much' } } }],
  ['a time that is none', { metadata: { deletionTimestamp: 'now' } }],
  ['__proto__', JSON.parse('{"spec":{"__proto__":{}}}') as JsonObject],
])('readClean() leaves %s to others', (_what, pod) => {
  expect(readClean(pod, schemaOf('Pod'))).toBeUndefined();
});
