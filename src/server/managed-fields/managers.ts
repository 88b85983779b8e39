/**
 * The entries of `metadata.managedFields` while they are worked on: one manager each, its set read only when somebody
 * asks for it, and written anew only if it changed.
 *
 * Entries come back in the order of the wire (Apply before Update, then by time, manager, version, subresource). Past
 * ten Update entries the oldest are folded into `ancient-changes`, one bucket per version.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { ManagedFieldsEntry } from '../../api/objects.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { type FieldSet, fromFieldsV1, toFieldsV1, unionAll } from './field-sets/field-set.ts';

const maxUpdaters = 10;
/** So many steps are looked up one by one. */
const FEW = 8;
const ancientManager = 'ancient-changes';

export type ManagerId = Required<Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion' | 'subresource'>>;

export class Manager {
  readonly id: ManagerId;
  time: string | undefined;
  readonly #written: JsonObject | undefined;
  #set: FieldSet | undefined;
  #isChanged = false;

  constructor(id: ManagerId, time?: string, written?: JsonObject) {
    this.id = id;
    this.time = time;
    this.#written = written;
  }

  get isApplier(): boolean {
    return this.id.operation === 'Apply';
  }

  /** Owns nothing: such an entry is not kept. */
  get isEmpty(): boolean {
    return this.#isChanged ? this.set.size === 0 : Object.keys(this.#written ?? {}).length === 0;
  }

  get set(): FieldSet {
    this.#set ??= fromFieldsV1(this.#written);
    return this.#set;
  }

  set set(set: FieldSet) {
    this.#set = set;
    this.#isChanged = true;
  }

  /** True if a field of `touched` may be in the set: cheaper than to read the set. */
  mayTouch(touched: FieldSet): boolean {
    return this.#isChanged || this.#set !== undefined || overlaps(this.#written, touched);
  }

  /** True if every field of `fields` is in the set, as far as can be told without reading it. */
  owns(fields: FieldSet): boolean {
    return !this.#isChanged && covers(this.#written, fields);
  }

  toEntry(): ManagedFieldsEntry {
    return makeEntry(this.id, this.time, this.#isChanged || !this.#written ? toFieldsV1(this.set) : this.#written);
  }
}

export function makeEntry(
  { manager, operation, apiVersion, subresource }: ManagerId,
  time: string | undefined,
  fieldsV1: JsonObject,
): ManagedFieldsEntry {
  const entry: ManagedFieldsEntry = {};
  if (manager !== '') entry.manager = manager;
  entry.operation = operation;
  entry.apiVersion = apiVersion;
  if (time) entry.time = time;
  entry.fieldsType = 'FieldsV1';
  entry.fieldsV1 = fieldsV1;
  if (subresource !== '') entry.subresource = subresource;
  return entry;
}

/** The managers of an object; none if any of its entries cannot be read. */
export function readManagers(entries: JsonValue | readonly ManagedFieldsEntry[] | undefined): Manager[] {
  if (!Array.isArray(entries)) return [];
  const managers: Manager[] = [];
  for (const entry of entries as readonly (ManagedFieldsEntry | null)[]) {
    const { manager = '', operation, apiVersion = '', subresource = '', fieldsType, fieldsV1 } = entry ?? {};
    if ((operation !== 'Apply' && operation !== 'Update') || apiVersion === '' || fieldsType !== 'FieldsV1') return [];
    if (fieldsV1 !== undefined && fieldsV1 !== null && !isObject(fieldsV1)) return [];
    managers.push(new Manager({ manager, operation, apiVersion, subresource }, entry?.time, fieldsV1 ?? {}));
  }
  return managers;
}

/** Whether all entries say who owns what; no entries do. */
export function areReadable(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  return readManagers(entries).length === (entries?.length ?? 0);
}

/** The manager of this identity. An applier stays itself when it moves to another version. */
export function findManager(managers: readonly Manager[], id: ManagerId): Manager | undefined {
  return managers.find(
    (other) =>
      other.id.manager === id.manager &&
      other.id.operation === id.operation &&
      other.id.subresource === id.subresource &&
      (id.operation === 'Apply' || other.id.apiVersion === id.apiVersion),
  );
}

export function writeManagers(managers: readonly Manager[]): ManagedFieldsEntry[] {
  return foldOldest(managers.filter((manager) => !manager.isEmpty))
    .sort(compareManagers)
    .map((manager) => manager.toEntry());
}

/** Keeps the number of Update entries bounded: the oldest of each version become one. */
function foldOldest(managers: readonly Manager[]): Manager[] {
  const updaters = managers.filter((manager) => !manager.isApplier);
  let excess = updaters.length - maxUpdaters;
  if (excess <= 0) return [...managers];
  updaters.sort(compareManagers);
  const byVersion = new Map<string, Manager[]>();
  for (const manager of updaters) {
    if (excess <= 0) break;
    const { apiVersion } = manager.id;
    const older = byVersion.get(apiVersion);
    if (!older) {
      byVersion.set(apiVersion, [manager]);
      continue;
    }
    older.push(manager);
    excess--;
  }
  const folded = [...byVersion.values()].filter((olds) => olds.length > 1);
  const gone = new Set(folded.flat());
  return [...managers.filter((manager) => !gone.has(manager)), ...folded.map(bucketOf)];
}

/** Under the time of the youngest, which comes last. */
function bucketOf(olds: readonly Manager[]): Manager {
  const { id, time } = olds.at(-1)!;
  const bucket = new Manager({ ...id, manager: ancientManager, operation: 'Update', subresource: '' }, time);
  bucket.set = unionAll(olds.map(({ set }) => set));
  return bucket;
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.id.operation, b.id.operation) ||
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.id.manager, b.id.manager) ||
    compareText(a.id.apiVersion, b.id.apiVersion) ||
    compareText(a.id.subresource, b.id.subresource)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True if every owned field of the set is also in FieldsV1, spelled the same. */
function covers(written: JsonValue | undefined, set: FieldSet): boolean {
  if (!isObject(written)) return false;
  for (const [step, { isOwned, children }] of set) {
    const below = Object.hasOwn(written, step) ? written[step] : undefined;
    if (!isObject(below)) return false;
    if (isOwned && !Object.hasOwn(below, '.') && Object.keys(below).length > 0) return false;
    if (children.size > 0 && !covers(below, children)) return false;
  }
  return true;
}

/** True if some owned field of the set is, as it seems, also in FieldsV1. */
function overlaps(written: JsonValue | undefined, set: FieldSet): boolean {
  if (!isObject(written)) return false;
  if (set.size <= FEW) {
    for (const [step, node] of set)
      if (Object.hasOwn(written, step) && (node.isOwned || overlaps(written[step], node.children))) return true;
    return false;
  }
  // Of many managers each may have little: then what counts is what they have, not what was touched.
  for (const step of Object.keys(written)) {
    const node = set.get(step);
    if (node && (node.isOwned || overlaps(written[step], node.children))) return true;
  }
  return false;
}
