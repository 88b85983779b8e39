/**
 * Apply and plain writes against a model written from the rules of ownership: every function of it works on whole values
 * and flat sets of paths, knows no trees and shares nothing with what it judges. Three appliers and two plain writers
 * take turns on values of every shape: structs, maps, keyed lists and sets within each other, atomic lists and maps,
 * values without a schema that change their type, and nulls in all places. After every turn the object, the conflicts
 * and the owners read back from managedFields are those of the model.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StatusError } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import { applyPatch } from './apply-patch.ts';
import { trackUpdate } from './track-update.ts';

/** A type of the model; `free` has no schema and is what its value is. */
type Type =
  | { is: 'scalar' | 'atomic' | 'set' | 'free'; schema: Schema }
  | { is: 'keyed'; of: Type; schema: Schema }
  | { is: 'map'; fields: Record<string, Type>; rest?: Type; schema: Schema };

const scalar = (type: 'string' | 'integer'): Type => ({ is: 'scalar', schema: { type } });
const text = scalar('string');
const count = scalar('integer');
const free: Type = { is: 'free', schema: { type: 'any', preserveUnknownFields: true } };
const words: Type = { is: 'atomic', schema: { type: 'array', listType: 'atomic', items: text.schema } };
const tags: Type = { is: 'set', schema: { type: 'array', listType: 'set', items: text.schema } };
const box: Type = { is: 'atomic', schema: { type: 'object', mapType: 'atomic', additional: text.schema } };
const mapOf = (of: Type): Type => ({
  is: 'map',
  fields: {},
  rest: of,
  schema: { type: 'object', additional: of.schema },
});
const keyed = (of: Type): Type => ({
  is: 'keyed',
  of,
  schema: { type: 'array', listType: 'map', listMapKeys: ['name'], items: of.schema },
});
function struct(fields: Record<string, Type>, rest?: Type): Type {
  const properties = new Map(Object.entries(fields).map(([name, type]) => [name, type.schema]));
  const schema: Schema = { type: 'object', properties, ...(rest && { preserveUnknownFields: true }) };
  return { is: 'map', fields, ...(rest && { rest }), schema };
}

const pin = struct({ name: text, depth: count, words, tags });
const part = struct({ name: text, weight: count, hue: text, tags, words, pins: keyed(pin), extra: free });
const top = struct({
  spec: struct({
    color: text,
    size: count,
    labels: mapOf(text),
    limits: mapOf(mapOf(count)),
    groups: mapOf(tags),
    parts: keyed(part),
    tags,
    words,
    box,
    free,
    open: struct({ known: text, parts: keyed(part) }, free),
  }),
});
const schema: Schema = {
  type: 'object',
  properties: new Map([
    ['apiVersion', text.schema],
    ['kind', text.schema],
    ['metadata', struct({ name: text, uid: text }).schema],
    ...top.schema.properties!,
  ]),
};
const apiVersion = 'toys.example.com/v1';

// The rules. A path is its steps, as FieldsV1 writes them, joined by slashes; absent is undefined.

type Value = JsonValue | undefined;
type Paths = Set<string>;

const below = (path: string, step: string) => (path === '' ? step : `${path}/${step}`);
const isMap = (value: Value): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const mapOrNone = (value: Value): JsonObject => (isMap(value) ? value : {});
const listOrNone = (value: Value): JsonValue[] => (Array.isArray(value) ? value : []);
const isSame = (a: Value, b: Value) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const stepOf = (item: JsonValue) =>
  isMap(item) ? `k:${JSON.stringify({ name: item.name })}` : `v:${JSON.stringify(item)}`;
const childOf = (type: Type & { is: 'map' }, key: string) => type.fields[key] ?? type.rest!;

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map((item) => sorted(item)!);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])!]),
  );
}

const freeMap: Type & { is: 'map' } = { is: 'map', fields: {}, rest: free, schema: free.schema };

/** What a value without a schema is taken for: a map, one leaf, or, for null, whatever the other side is. */
function kindOf(type: Type, value: Value): string {
  if (type.is !== 'free') return 'typed';
  return value === null ? 'anything' : isMap(value) ? 'map' : Array.isArray(value) ? 'list' : 'scalar';
}

function resolve(type: Type, value: Value): Type {
  if (type.is !== 'free') return type;
  return isMap(value) || value === null ? freeMap : { is: 'atomic', schema: free.schema };
}

/** What an object names. Maps and lists on the way are not named, unless they are null or, for maps, empty. */
function fieldsOf(value: JsonValue, declared: Type, path = '', into: Paths = new Set()): Paths {
  const type = resolve(declared, value);
  if (type.is === 'scalar' || type.is === 'atomic') into.add(path);
  else if (type.is === 'map') {
    for (const [key, member] of Object.entries(mapOrNone(value))) {
      const at = below(path, `f:${key}`);
      fieldsOf(member!, childOf(type, key), at, into);
      if (member === null || (isMap(member) && isSame(member, {})) || !type.fields[key]) into.add(at);
    }
  } else
    for (const item of listOrNone(value)) {
      const at = below(path, stepOf(item));
      fieldsOf(item, type.is === 'keyed' ? type.of : text, at, into);
      into.add(at);
    }
  return into;
}

function merge(live: Value, applied: Value, declared: Type): Value {
  if (applied === undefined || live === undefined) return applied === undefined ? live : applied;
  const type = resolve(declared, applied);
  if (type.is === 'scalar' || type.is === 'atomic') return applied;
  if (type.is === 'map') {
    const [before, over] = [mapOrNone(live), mapOrNone(applied)];
    const keys = [...new Set([...Object.keys(before), ...Object.keys(over)])];
    if (keys.length === 0) return applied; // null or empty: as it was applied
    return Object.fromEntries(keys.map((key) => [key, merge(before[key], over[key], childOf(type, key))!]));
  }
  const [before, over] = [itemsOf(live), itemsOf(applied)];
  const steps = [...new Set([...before.keys(), ...over.keys()])];
  if (steps.length === 0) return applied;
  return steps.map((step) => merge(before.get(step), over.get(step), type.is === 'keyed' ? type.of : text)!);
}

const itemsOf = (value: Value) => new Map(listOrNone(value).map((item) => [stepOf(item), item]));

type Changes = { changed: Paths; removed: Paths };

function compare(
  before: Value,
  after: Value,
  declared: Type,
  path = '',
  into: Changes = { changed: new Set(), removed: new Set() },
): Changes {
  const asLeaf = () => {
    if (after === undefined) into.removed.add(path);
    else if (before === undefined || !isSame(before, after)) into.changed.add(path);
    return true;
  };
  const visit = (type: Type): boolean => {
    if (type.is === 'scalar' || type.is === 'atomic') return asLeaf();
    if (type.is === 'map') {
      const [old, now] = [mapOrNone(before), mapOrNone(after)];
      const keys = new Set([...Object.keys(old), ...Object.keys(now)]);
      if (keys.size === 0) return asLeaf();
      for (const key of keys) compare(old[key], now[key], childOf(type, key), below(path, `f:${key}`), into);
      return false;
    }
    const [old, now] = [itemsOf(before), itemsOf(after)];
    const steps = new Set([...old.keys(), ...now.keys()]);
    if (steps.size === 0) return asLeaf();
    const of = type.is === 'keyed' ? type.of : text;
    for (const step of steps) compare(old.get(step), now.get(step), of, below(path, step), into);
    return false;
  };
  const isOther = before !== undefined && after !== undefined && kindOf(declared, before) !== kindOf(declared, after);
  if (isOther) visit(resolve(declared, before));
  const isLeaf = visit(resolve(declared, after === undefined ? before : after));
  if (!isLeaf && before === undefined) into.changed.add(path);
  if (!isLeaf && after === undefined) into.removed.add(path);
  return into;
}

/** What is left of a value; a map or list of which nothing is left is null. */
function remove(value: JsonValue, paths: Paths, declared: Type, path = ''): JsonValue {
  const type = resolve(declared, value);
  if (type.is === 'scalar') return value;
  const kept = (child: JsonValue, of: Type, at: string) =>
    [...paths].some((other) => other.startsWith(`${at}/`)) ? remove(child, paths, of, at) : child;
  if (type.is === 'map' && isMap(value)) {
    const left = Object.entries(value)
      .map(([key, member]) => ({ key, member: member!, at: below(path, `f:${key}`) }))
      .filter(({ at }) => !paths.has(at))
      .map(({ key, member, at }) => [key, kept(member, childOf(type, key), at)]);
    return left.length > 0 ? Object.fromEntries(left) : null;
  }
  if ((type.is === 'keyed' || type.is === 'set') && Array.isArray(value)) {
    const left = value
      .filter((item) => !paths.has(below(path, stepOf(item))))
      .map((item) => kept(item, type.is === 'keyed' ? type.of : text, below(path, stepOf(item))));
    return left.length > 0 ? left : null;
  }
  return null;
}

/** With the declared fields on the way to others: whoever owns something in a struct keeps the struct. */
function withNamed(paths: Paths): Paths {
  const result = new Set(paths);
  for (const path of paths) {
    let at = '';
    let type: Type | undefined = top;
    for (const step of path.split('/').slice(0, -1)) {
      at = below(at, step);
      const key = step.slice(2);
      if (type?.is === 'map' && type.fields[key]) result.add(at);
      type = type?.is === 'map' ? childOf(type, key) : type?.is === 'keyed' ? type.of : undefined;
    }
  }
  return result;
}

const minus = (a: Paths, b: Paths): Paths => new Set([...a].filter((path) => !b.has(path)));
const and = (a: Paths, b: Paths): Paths => new Set([...a].filter((path) => b.has(path)));

/** Takes out what its applier had and has no more, unless somebody else has it. */
function prune(merged: JsonObject, last: Paths, managed: Paths): JsonObject {
  if (last.size === 0) return merged;
  const all = withNamed(fieldsOf(merged, top));
  const named = (value: JsonValue) => withNamed(fieldsOf(value, top));
  const without = remove(merged, withNamed(last), top);
  const ownedBack = remove(merged, minus(all, new Set([...named(without), ...withNamed(managed)])), top);
  return mapOrNone(remove(merged, and(minus(all, named(ownedBack)), withNamed(last)), top));
}

type Owners = Map<string, Paths>;
type State = { object: JsonObject; owners: Owners };

const without = (owners: Owners, { changed, removed }: Changes): Owners =>
  new Map([...owners].map(([name, paths]) => [name, minus(minus(paths, changed), removed)]));
/** A manager without fields is none. */
const state = (object: JsonObject, owners: Owners): State => ({
  object,
  owners: new Map([...owners].filter(([, paths]) => paths.size > 0)),
});

function modelUpdate({ object, owners }: State, manager: string, after: JsonObject, isCreate: boolean): State {
  if (owners.size === 0 && !isCreate) return { object: after, owners }; // untracked stays untracked
  const changes = compare(object, after, top);
  const left = without(owners, changes);
  return state(after, left.set(manager, new Set([...(left.get(manager) ?? []), ...changes.changed])));
}

function modelApply(start: State, manager: string, body: JsonObject): { conflicts: string[]; after: State } {
  const first = new Map([[FIRST, minus(compare({}, start.object, top).changed, new Set(['']))]]);
  const owners = start.owners.size > 0 ? start.owners : first;
  const mine = fieldsOf(body, top);
  const others = new Map([...owners].filter(([name]) => name !== manager));
  const managed = new Set([...mine, ...[...others.values()].flatMap((paths) => [...paths])]);
  const after = prune(mapOrNone(merge(start.object, body, top)), owners.get(manager) ?? new Set(), managed);
  const changes = compare(start.object, after, top);
  const conflicts = [...others].flatMap(([name, paths]) =>
    [...and(paths, changes.changed)].map((path) => `${who(name)}: ${shown(path)}`),
  );
  return { conflicts: conflicts.sort(), after: state(after, without(others, changes).set(manager, mine)) };
}

const WRITERS = ['writer', 'typist'];
const FIRST = 'before-first-apply';
const who = (name: string) =>
  `conflict with "${name}"${WRITERS.includes(name) || name === FIRST ? ` using ${apiVersion}` : ''}`;
const shown = (path: string) =>
  path
    .split('/')
    .map((step) =>
      step
        .replace(/^f:/, '.')
        .replace(/^k:\{"name":(.*)\}$/, '[name=$1]')
        .replace(/^v:(.*)$/, '[=$1]'),
    )
    .join('');

// The object under test, and what it says of itself.

const time = (second: number) => new Date(second * 1000).toISOString().replace('.000', '');
const whole = (object: JsonObject): JsonObject => ({ apiVersion, kind: 'Toy', metadata: { name: 'a' }, ...object });

function realUpdate(live: JsonObject | undefined, manager: string, spec: JsonObject, second: number): JsonObject {
  const after = whole(spec);
  const before = live && { before: live };
  const entries = trackUpdate({ ...before, after, schema, manager, apiVersion, now: time(second) });
  return { ...after, metadata: { name: 'a', ...(entries && { managedFields: entries as unknown as JsonValue }) } };
}

type Applied = { object: JsonObject } | { conflicts: string[] };

function realApply(live: JsonObject | undefined, turn: ApplyTurn, force: boolean, second: number): Applied {
  const request = { body: whole(turn.object), schema, manager: turn.manager, apiVersion, force, now: time(second) };
  try {
    return { object: applyPatch({ ...(live && { live }), ...request }) };
  } catch (err) {
    if (!(err instanceof StatusError) || err.code !== 409) throw err;
    const causes = err.status.details?.causes ?? [];
    return { conflicts: causes.map(({ message, field }) => `${message}: ${field}`).sort() };
  }
}

/** Lists in the order of their keys: in which order they stand is another question. */
function ordered(value: Value, declared: Type): Value {
  const type = resolve(declared, value);
  if (type.is === 'map' && isMap(value))
    return sorted(
      Object.fromEntries(Object.entries(value).map(([key, member]) => [key, ordered(member, childOf(type, key))!])),
    );
  if ((type.is !== 'keyed' && type.is !== 'set') || !Array.isArray(value)) return sorted(value);
  const items = value.map((item) => (type.is === 'keyed' ? ordered(item, type.of)! : item));
  return items.sort((a, b) => (stepOf(a) < stepOf(b) ? -1 : 1));
}

function stateOf(object: JsonObject): State {
  const { managedFields = [] } = object.metadata as { managedFields?: { manager: string; fieldsV1: JsonObject }[] };
  const owners: Owners = new Map();
  for (const { manager, fieldsV1 } of managedFields) {
    const paths = new Set<string>();
    const visit = (node: JsonObject, path: string): void => {
      const steps = Object.keys(node);
      if (path !== '' && (steps.length === 0 || steps.includes('.'))) paths.add(path);
      for (const step of steps) if (step !== '.') visit(node[step] as JsonObject, below(path, step));
    };
    visit(fieldsV1, '');
    expect(owners.has(manager)).toBe(false);
    owners.set(manager, paths);
  }
  return { object: specOf(object), owners };
}

const specOf = ({ spec }: JsonObject): JsonObject => (spec === undefined ? {} : { spec });
const comparable = ({ object, owners }: State) => ({
  object: ordered(object, top),
  owners: [...owners].map(([name, paths]) => `${name}: ${[...paths].sort().join(' ')}`).sort(),
});

type ApplyTurn = { kind: 'apply'; manager: string; object: JsonObject; force: boolean };
/** Plain writes lay an object over the live one or put it in its place, and drop a field. */
type UpdateTurn = { kind: 'update'; manager: string; object: JsonObject; isReplace: boolean; drop: number | undefined };
type Turn = ApplyTurn | UpdateTurn;

/** Some of these fields, now and then one of them null. */
const some = <T>(fields: { [name in keyof T]: fc.Arbitrary<T[name]> }): fc.Arbitrary<JsonObject> =>
  fc.record(
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        fc.option(value as fc.Arbitrary<unknown>, { nil: null, freq: 12 }),
      ]),
    ),
    { requiredKeys: [], noNullPrototype: true },
  ) as fc.Arbitrary<JsonObject>;
const number = fc.constantFrom(1, 2);
const word = fc.constantFrom('x', 'y');
const wordList = fc.array(word, { maxLength: 2 });
const wordSet = fc.uniqueArray(fc.constantFrom('u', 'v', 'w'), { maxLength: 2 });
const named = (fields: fc.Arbitrary<JsonObject>) =>
  fc.uniqueArray(
    fc.tuple(fc.constantFrom('p', 'q', 'r'), fields).map(([name, more]): JsonObject => ({ name, ...more })),
    { selector: ({ name }) => name, maxLength: 3 },
  );
const freeValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue; map: JsonObject }>((tie) => ({
  value: fc.oneof({ maxDepth: 2, depthIdentifier: 'free' }, number, word, fc.constant(null), wordList, tie('map')),
  map: fc.record({ a: tie('value'), b: tie('value') }, { requiredKeys: [], noNullPrototype: true }),
})).value;
const bounds = some({ min: number, max: number });
const pins = named(some({ depth: number, words: wordList, tags: wordSet }));
const parts = named(some({ weight: number, hue: word, tags: wordSet, words: wordList, pins, extra: freeValue }));
const open = fc
  .tuple(some({ known: word, parts }), some({ a: freeValue, b: freeValue }))
  .map(([known, more]): JsonObject => ({ ...known, ...more }));
const spec = some({
  color: word,
  size: number,
  labels: some({ a: word, b: word }),
  limits: some({ cpu: bounds, memory: bounds }),
  groups: some({ g: wordSet, h: wordSet }),
  parts,
  tags: wordSet,
  words: wordList,
  box: some({ a: word, b: word }),
  free: freeValue,
  open,
});
const object = fc.oneof(
  { weight: 8, arbitrary: spec.map((value): JsonObject => ({ spec: value })) },
  { weight: 1, arbitrary: fc.constantFrom<JsonObject>({}, { spec: null }) },
);
const turn: fc.Arbitrary<Turn> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      manager: fc.constantFrom('alice', 'bob', 'carol'),
      object,
      force: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      manager: fc.constantFrom(...WRITERS),
      object,
      isReplace: fc.boolean(),
      drop: fc.option(fc.nat(60), { nil: undefined }),
    }),
  },
);

function written(live: JsonObject, { object, isReplace, drop }: UpdateTurn): JsonObject {
  const after = isReplace ? object : mapOrNone(merge(live, object, top));
  if (drop === undefined) return after;
  const droppable = [...withNamed(fieldsOf(after, top))].filter((path) => !/\/k:[^/]*\/f:name$/.test(path));
  const dropped = droppable[drop % Math.max(1, droppable.length)];
  return dropped === undefined ? after : mapOrNone(remove(after, new Set([dropped]), top));
}

/** Counts what the turns were, so that a generator gone dull is noticed. */
type Tally = { applied: number; refused: number; forced: number; updated: number };

function play(turns: readonly Turn[], tally: Tally): void {
  let live: JsonObject | undefined;
  let model: State = { object: {}, owners: new Map() };
  for (const [i, turn] of turns.entries()) {
    if (turn.kind === 'update') {
      const after = written(model.object, turn);
      model = modelUpdate(model, turn.manager, after, live === undefined);
      live = realUpdate(live, turn.manager, after, 10 * i);
      tally.updated++;
    } else {
      const want = modelApply(model, turn.manager, turn.object);
      const isRefused = want.conflicts.length > 0;
      const unforced = realApply(live, turn, false, 10 * i);
      if ('conflicts' in unforced) expect(unforced.conflicts).toEqual(want.conflicts);
      else expect(want.conflicts).toEqual([]);
      tally[isRefused ? (turn.force ? 'forced' : 'refused') : 'applied']++;
      if (isRefused && !turn.force) continue; // nothing has happened
      const result = realApply(live, turn, turn.force, 10 * i);
      if (!('object' in result)) throw new Error(`refused although forced: ${result.conflicts.join()}`);
      // Once more: nothing, not even a time. Where no owner is left, though, the object counts as never tracked; and who
      // asks for nothing but an empty list or null does not own it, so what it lets go of may go first and come back next.
      const isTracked = (result.object.metadata as JsonObject).managedFields !== undefined;
      if (isTracked && !/null|\[\]/.test(JSON.stringify([specOf(result.object), turn.object])))
        expect(realApply(result.object, turn, false, 10 * i + 1)).toEqual(result);
      if (live) expectOrder(live, result.object, turn.object);
      live = result.object;
      model = want.after;
    }
    expect(comparable(stateOf(live))).toEqual(comparable(model));
    model = { ...model, object: specOf(live) }; // the order of lists is the real one
  }
}

/** Applied elements stand in the order in which they were applied, the rest among themselves as before; none twice. */
function expectOrder(live: JsonObject, object: JsonObject, applied: JsonObject): void {
  const names = ({ spec }: JsonObject) =>
    listOrNone(mapOrNone(spec).parts).map((item) => (item as { name: string }).name);
  const order = names(applied);
  const all = names(object);
  const isRest = (name: string) => !order.includes(name);
  expect(all.filter((name) => !isRest(name))).toEqual(order);
  expect(all.filter(isRest)).toEqual(names(live).filter((name) => isRest(name) && all.includes(name)));
}

it('applyPatch() and trackUpdate() do what the model does, turn by turn', () => {
  const tally: Tally = { applied: 0, refused: 0, forced: 0, updated: 0 };
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 10 }), (turns) => play(turns, tally)),
    { numRuns: 150 },
  );
  const { applied, refused, forced, updated } = tally;
  expect(Math.min(applied, refused, forced, updated)).toBeGreaterThan(30);
});
