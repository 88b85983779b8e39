/**
 * Apply and plain writes against a model that knows no trees and no schema: an object is a flat table of fields, a
 * manager is a set of paths. Two appliers and one plain writer take turns; after every turn the object, the conflicts
 * and the owners read back from managedFields are those of the model.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { StatusError } from '../../api/status-error.ts';
import type { Schema } from '../schema/schema.ts';
import { applyPatch } from './apply-patch.ts';
import { trackUpdate } from './track-update.ts';

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer' };
const struct = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  properties: new Map(Object.entries(properties)),
});
const part = struct({ name: text, weight: count, hue: text });
const schema = struct({
  apiVersion: text,
  kind: text,
  metadata: struct({ name: text, uid: text }),
  spec: struct({
    color: text,
    size: count,
    labels: { type: 'object', additional: text },
    limits: { type: 'object', additional: { type: 'object', additional: count } },
    parts: { type: 'array', listType: 'map', listMapKeys: ['name'], items: part },
    words: { type: 'array', listType: 'atomic', items: text },
  }),
});
const apiVersion = 'toys.example.com/v1';

/** Each field of an object by its path, steps as FieldsV1 writes them; undefined for what only holds others. */
type Table = Map<string, JsonValue | undefined>;
type Owners = Map<string, Set<string>>;
type State = { table: Table; owners: Owners };

function tableOf(spec: JsonObject | undefined): Table {
  const table: Table = new Map();
  const visit = (value: JsonValue, path: string): void => {
    const isHolder = typeof value === 'object' && value !== null && path !== 'f:spec/f:words';
    table.set(path, isHolder ? undefined : value);
    if (!isHolder) return;
    if (Array.isArray(value))
      for (const item of value as { name: string }[]) visit(item, `${path}/k:${JSON.stringify({ name: item.name })}`);
    else for (const [key, member] of Object.entries(value)) visit(member as JsonValue, `${path}/f:${key}`);
  };
  if (spec) visit(spec, 'f:spec');
  return table;
}

function specOf(table: Table): JsonObject | undefined {
  const below = (path: string) => [...table.keys()].filter((other) => parentOf(other) === path);
  const build = (path: string): JsonValue => {
    const value = table.get(path);
    if (value !== undefined) return value;
    if (path === 'f:spec/f:parts') return below(path).map(build);
    return Object.fromEntries(below(path).map((child) => [child.slice(path.length + 3), build(child)]));
  };
  return table.has('f:spec') ? (build('f:spec') as JsonObject) : undefined;
}

const parentOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const isAtOrBelow = (path: string, top: string) => path === top || path.startsWith(`${top}/`);
/** An element of a list or an entry of a map: it comes and goes by itself, and its applier owns it as such. */
const isItem = (path: string) => /\/k:[^/]*$|\/f:labels\/[^/]*$|\/f:limits\/.*$/.test(path);
const shown = (path: string) =>
  path
    .split('/')
    .map((step) => (step.startsWith('f:') ? `.${step.slice(2)}` : step.replace(/^k:\{"name":(.*)\}$/, '[name=$1]')))
    .join('');

/** What one who applies this owns: values, items, and holders with nothing in them. */
function asked(table: Table): Set<string> {
  const isHolding = new Set([...table.keys()].map(parentOf));
  return new Set([...table.keys()].filter((path) => !isHolding.has(path) || isItem(path)));
}

function changes(before: Table, after: Table): { changed: Set<string>; removed: Set<string> } {
  const isSame = (path: string) =>
    before.has(path) && JSON.stringify(before.get(path)) === JSON.stringify(after.get(path));
  return {
    changed: new Set([...after.keys()].filter((path) => !isSame(path))),
    removed: new Set([...before.keys()].filter((path) => !after.has(path))),
  };
}

function without(owners: Owners, gone: ReadonlySet<string>): Owners {
  return new Map([...owners].map(([name, paths]) => [name, new Set([...paths].filter((path) => !gone.has(path)))]));
}

/** A manager without fields is none. */
function state(table: Table, owners: Owners): State {
  return { table, owners: new Map([...owners].filter(([, paths]) => paths.size > 0)) };
}

function modelUpdate({ table, owners }: State, after: Table, isCreate: boolean): State {
  if (owners.size === 0 && !isCreate) return { table: after, owners }; // untracked stays untracked
  const { changed, removed } = changes(table, after);
  const left = without(owners, new Set([...changed, ...removed]));
  return state(after, left.set(WRITER, new Set([...(left.get(WRITER) ?? []), ...changed])));
}

type Outcome = { conflicts: string[]; after: State };

function modelApply(start: State, manager: string, body: Table): Outcome {
  const owners = start.owners.size > 0 ? start.owners : new Map([[FIRST, new Set(start.table.keys())]]);
  const mine = asked(body);
  const former = owners.get(manager) ?? new Set<string>();
  const others = new Map([...owners].filter(([name]) => name !== manager));
  const owned = [...mine, ...[...others.values()].flatMap((paths) => [...paths])];

  const after: Table = new Map([...start.table, ...body]);
  for (const path of [...after.keys()]) {
    const wasMine = isItem(path) ? former.has(path) : [...former].some((other) => isAtOrBelow(other, path));
    const isWanted = isItem(path) ? owned.includes(path) : owned.some((other) => isAtOrBelow(other, path));
    if (!wasMine || isWanted) continue;
    for (const other of [...after.keys()]) if (isAtOrBelow(other, path)) after.delete(other);
  }
  const { changed, removed } = changes(start.table, after);
  const conflicts = [...others].flatMap(([name, paths]) =>
    [...paths].filter((path) => changed.has(path)).map((path) => `${who(name)}: ${shown(path)}`),
  );
  const left = without(others, new Set([...changed, ...removed]));
  return { conflicts: conflicts.sort(), after: state(after, left.set(manager, mine)) };
}

const WRITER = 'writer';
const FIRST = 'before-first-apply';
const who = (name: string) =>
  `conflict with "${name}"${name === WRITER || name === FIRST ? ` using ${apiVersion}` : ''}`;

/** The object under test, and what it says of itself. */
const typeAndName = { apiVersion, kind: 'Toy' };
const withSpec = (spec: JsonObject | undefined) => ({ ...typeAndName, metadata: { name: 'a' }, ...(spec && { spec }) });
const time = (second: number) => new Date(second * 1000).toISOString().replace('.000', '');

function realUpdate(live: JsonObject | undefined, spec: JsonObject | undefined, second: number): JsonObject {
  const after = withSpec(spec);
  const before = live && { before: live };
  const entries = trackUpdate({ ...before, after, schema, manager: WRITER, apiVersion, now: time(second) });
  return { ...after, metadata: { name: 'a', ...(entries && { managedFields: entries as unknown as JsonValue }) } };
}

type Applied = { object: JsonObject } | { conflicts: string[] };

function realApply(live: JsonObject | undefined, turn: ApplyTurn, force: boolean, second: number): Applied {
  const { manager, spec } = turn;
  const request = { body: withSpec(spec), schema, manager, apiVersion, force, now: time(second) };
  try {
    return { object: applyPatch({ ...(live && { live }), ...request }) };
  } catch (err) {
    if (!(err instanceof StatusError) || err.code !== 409) throw err;
    const causes = err.status.details?.causes ?? [];
    return { conflicts: causes.map(({ message, field }) => `${message}: ${field}`).sort() };
  }
}

function stateOf(object: JsonObject): State {
  const { managedFields = [] } = object.metadata as { managedFields?: { manager: string; fieldsV1: JsonObject }[] };
  const owners: Owners = new Map();
  for (const { manager, fieldsV1 } of managedFields) {
    const paths = new Set<string>();
    const visit = (node: JsonObject, path: string): void => {
      const steps = Object.keys(node);
      if (path !== '' && (steps.length === 0 || steps.includes('.'))) paths.add(path);
      for (const step of steps)
        if (step !== '.') visit(node[step] as JsonObject, path === '' ? step : `${path}/${step}`);
    };
    visit(fieldsV1, '');
    expect(owners.has(manager)).toBe(false);
    owners.set(manager, paths);
  }
  return { table: tableOf(object.spec as JsonObject | undefined), owners };
}

type ApplyTurn = { kind: 'apply'; manager: string; spec: JsonObject | undefined; force: boolean };
/** Plain writes lay a spec over the live one or put it in its place, and drop a field. */
type UpdateTurn = { kind: 'update'; spec: JsonObject | undefined; isReplace: boolean; drop: number | undefined };
type Turn = ApplyTurn | UpdateTurn;

const some = <T>(fields: { [name in keyof T]: fc.Arbitrary<T[name]> }): fc.Arbitrary<JsonObject> =>
  fc.record(fields, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<JsonObject>;
const number = fc.constantFrom(1, 2);
const word = fc.constantFrom('x', 'y');
const bounds = some({ min: number, max: number });
const parts = fc.uniqueArray(
  fc
    .tuple(fc.constantFrom('p', 'q', 'r'), some({ weight: number, hue: word }))
    .map(([name, more]): JsonObject => ({ name, ...more })),
  { selector: ({ name }) => name, maxLength: 3 },
);
const spec = fc.option(
  some({
    color: word,
    size: number,
    labels: some({ a: word, b: word }),
    limits: some({ cpu: bounds, memory: bounds }),
    parts,
    words: fc.array(word, { maxLength: 2 }),
  }),
  { nil: undefined, freq: 8 },
);
const turn: fc.Arbitrary<Turn> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      manager: fc.constantFrom('alice', 'bob'),
      spec,
      force: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      spec,
      isReplace: fc.boolean(),
      drop: fc.option(fc.nat(30), { nil: undefined }),
    }),
  },
);

function written(table: Table, { spec, isReplace, drop }: UpdateTurn): Table {
  const after: Table = isReplace ? tableOf(spec) : new Map([...table, ...tableOf(spec)]);
  const droppable = [...after.keys()].filter((path) => !/\/k:[^/]*\/f:name$/.test(path)); // not the key of an element
  const dropped = drop === undefined ? undefined : droppable[drop % Math.max(1, droppable.length)];
  if (dropped !== undefined) for (const path of [...after.keys()]) if (isAtOrBelow(path, dropped)) after.delete(path);
  return after;
}

/** Counts what the turns were, so that a generator gone dull is noticed. */
type Tally = { applied: number; refused: number; forced: number; updated: number };

function play(turns: readonly Turn[], tally: Tally): void {
  let live: JsonObject | undefined;
  let model: State = { table: new Map(), owners: new Map() };
  for (const [i, turn] of turns.entries()) {
    if (turn.kind === 'update') {
      const after = written(model.table, turn);
      model = modelUpdate(model, after, live === undefined);
      live = realUpdate(live, specOf(after), 10 * i);
      tally.updated++;
    } else {
      const want = modelApply(model, turn.manager, tableOf(turn.spec));
      const isRefused = want.conflicts.length > 0;
      const unforced = realApply(live, turn, false, 10 * i);
      if ('conflicts' in unforced) expect(unforced.conflicts).toEqual(want.conflicts);
      else expect(want.conflicts).toEqual([]);
      tally[isRefused ? (turn.force ? 'forced' : 'refused') : 'applied']++;
      if (isRefused && !turn.force) continue; // nothing has happened
      const result = realApply(live, turn, turn.force, 10 * i);
      if (!('object' in result)) throw new Error(`refused although forced: ${result.conflicts.join()}`);
      // Once more: nothing, not even a time. Where no owner is left, though, the object counts as never tracked.
      if ((result.object.metadata as JsonObject).managedFields !== undefined)
        expect(realApply(result.object, turn, false, 10 * i + 1)).toEqual(result);
      if (live && !isSameTable(model.table, want.after.table)) expectOrder(live, result.object, turn.spec);
      live = result.object;
      model = want.after;
    }
    expect(stateOf(live)).toEqual(model);
  }
}

const isSameTable = (before: Table, after: Table) => {
  const { changed, removed } = changes(before, after);
  return changed.size + removed.size === 0;
};

/** Applied elements stand in the order in which they were applied, the rest among themselves as before; none twice. */
function expectOrder(live: JsonObject, object: JsonObject, applied: JsonObject | undefined): void {
  const names = (spec: JsonValue | undefined) =>
    ((spec as { parts?: { name: string }[] } | undefined)?.parts ?? []).map(({ name }) => name);
  const order = names(applied);
  const all = names(object.spec);
  const isRest = (name: string) => !order.includes(name);
  expect(all.filter((name) => !isRest(name))).toEqual(order);
  expect(all.filter(isRest)).toEqual(names(live.spec).filter((name) => isRest(name) && all.includes(name)));
}

it('applyPatch() and trackUpdate() do what the model does, turn by turn', () => {
  const tally: Tally = { applied: 0, refused: 0, forced: 0, updated: 0 };
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 10 }), (turns) => play(turns, tally)),
    { numRuns: 1000 },
  );
  const { applied, refused, forced, updated } = tally;
  expect(Math.min(applied, refused, forced, updated)).toBeGreaterThan(100);
});

it('a field that its one applier lets go of vanishes, and what others own stays', () => {
  fc.assert(
    fc.property(spec, spec, (first, second) => {
      const of = (manager: string, body: JsonObject | undefined, live?: JsonObject) => {
        const result = realApply(live, { kind: 'apply', manager, spec: body, force: true }, true, 0);
        if (!('object' in result)) throw new Error('refused although forced');
        return result.object;
      };
      const both = of('bob', second, of('alice', first));
      expect(stateOf(of('alice', undefined, both))).toEqual({
        table: tableOf(second),
        owners: stateOf(of('bob', second)).owners,
      });
      expect(of('bob', undefined, of('alice', undefined, both))).toEqual(withSpec(undefined));
    }),
  );
});
