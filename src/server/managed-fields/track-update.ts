/**
 * Ownership after a plain write (create, update, any patch but apply): the writer takes every field whose value it
 * changed, the others lose those, and removed fields belong to nobody.
 *
 * Not tracked: what the server itself sets in metadata, and what the caller says does not count (the status of a kind
 * with a status subresource). A write that changes nothing changes no entry, not even a time. An object without entries
 * stays without, except when it is created.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { ManagedFieldsEntry } from '../../api/objects.ts';
import { checkObject } from '../codec/check-object.ts';
import { isObject } from '../codec/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects, isSameComparison } from './compare.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  leaf,
  setOfPaths,
  setsEqual,
  union,
  withoutSubtrees,
} from './field-set.ts';
import { findManager, Manager, type ManagerId, readManagers, writeManagers } from './managers.ts';

export type UpdateToTrack = {
  /** The stored object; absent for a create. */
  readonly before?: JsonObject;
  readonly after: JsonObject;
  readonly schema: Schema;
  readonly manager: string;
  readonly apiVersion: string;
  readonly operation?: 'Update';
  readonly subresource?: string;
  /** The time as it is written, e.g. `2026-11-15T08:00:07Z`. */
  readonly now: string;
  /** Fields that do not count, with all below them. */
  readonly ignored?: FieldSet;
};

const serverOwned = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];
/** What no manager ever owns. */
export const neverTracked: FieldSet = setOfPaths([
  ['f:apiVersion'],
  ['f:kind'],
  ...serverOwned.map((name) => ['f:metadata', `f:${name}`]),
]);
const metadataItself: FieldSet = new Map([['f:metadata', leaf]]);

/** The new `metadata.managedFields`; undefined if there are none. */
export function trackUpdate(update: UpdateToTrack): ManagedFieldsEntry[] | undefined {
  const { after, schema, manager, apiVersion, subresource = '', now, ignored = emptySet } = update;
  const isCreate = update.before === undefined;
  const before = update.before ?? emptyObject(schema);
  const entries = entriesToStartFrom(before, after, subresource);
  const managers = readManagers(entries);
  if (managers.length === 0 && !isCreate) return undefined;

  const comparison = compareObjects(before, after, schema);
  const counted = (set: FieldSet) => withoutSubtrees(difference(set, metadataItself), union(neverTracked, ignored));
  const changed = counted(union(comparison.added, comparison.modified));
  const removed = counted(comparison.removed);
  if (isSameComparison({ added: changed, modified: emptySet, removed }))
    return managers.length === 0 ? undefined : (entries as unknown as ManagedFieldsEntry[]);

  const id = { manager, operation: 'Update', apiVersion, subresource };
  const former = changed.size > 0 ? findManager(managers, id)?.set : undefined;
  const touched = union(changed, removed);
  for (const other of managers) if (other.mayTouch(touched)) other.set = difference(other.set, touched);
  if (changed.size > 0) take(managers, id, changed, former, now);
  const written = writeManagers(managers);
  return written.length > 0 ? written : undefined;
}

/** Gives the writer what it changed; its time moves only if its set did. */
function take(managers: Manager[], id: ManagerId, changed: FieldSet, former: FieldSet | undefined, now: string): void {
  let self = findManager(managers, id);
  if (!self) {
    self = new Manager(id);
    managers.push(self);
  }
  self.set = union(self.set, changed);
  if (!former || !setsEqual(former, self.set)) self.time = now;
}

/** The entries of the body if it brought any, else those of the stored object. One empty entry means: start anew. */
function entriesToStartFrom(before: JsonObject, after: JsonObject, subresource: string): JsonValue | undefined {
  const given = subresource === '' ? entriesOf(after) : undefined;
  if (!Array.isArray(given) || given.length === 0) return entriesOf(before);
  if (given.length === 1 && isObject(given[0]) && Object.keys(given[0]).length === 0) return undefined;
  return readManagers(given).length > 0 ? given : entriesOf(before);
}

function entriesOf(object: JsonObject): JsonValue | undefined {
  const { metadata } = object;
  return isObject(metadata) ? metadata.managedFields : undefined;
}

const emptyObjects = new WeakMap<Schema, JsonObject>();

/** What the reference server compares a new object with: nothing but the structs that its type always writes. */
function emptyObject(schema: Schema): JsonObject {
  let object = emptyObjects.get(schema);
  if (!object) {
    object = checkObject({}, schema).object;
    emptyObjects.set(schema, object);
  }
  return object;
}
