/**
 * Ownership after a plain write (create, update, any patch but apply): the writer takes every field whose value it
 * changed, the others lose those, and removed fields belong to nobody.
 *
 * Not tracked: what the server itself sets in metadata, and what the caller says does not count (the status of a kind
 * with a status subresource). A write that changes nothing changes no entry, not even a time. An object without entries
 * stays without, except when it is created. One whose elements cannot be told apart is not tracked, and loses what entries it had.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { ManagedFieldsEntry } from '../../api/objects.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { withNullsForAbsent } from '../codec/written-nulls.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects, isSameComparison } from './compare.ts';
import { changeByVersion, type EntryVersions, isStale } from './entry-versions.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  leaf,
  setOfPaths,
  union,
  withoutSubtrees,
} from './field-sets/field-set.ts';
import { KeylessElementError } from './field-sets/field-shape.ts';
import { fieldsOfNew } from './fields-of-new.ts';
import { findManager, Manager, type ManagerId, makeEntry, readManagers, writeManagers } from './managers.ts';

export type UpdateToTrack = {
  /** The stored object; absent for a create. */
  readonly before?: JsonObject;
  readonly after: JsonObject;
  readonly schema: Schema;
  readonly manager: string;
  readonly apiVersion: string;
  readonly operation?: 'Update';
  readonly subresource?: string;
  /** Absent: entries may be in any. */
  readonly versions?: EntryVersions;
  /** The time as it is written, e.g. `2026-11-15T08:00:07Z`. */
  readonly now: string;
  /** What was sent besides, and will not be kept: it counts only in that its elements must be told apart. */
  readonly discarded?: JsonObject;
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
  const { schema, manager, apiVersion, subresource = '', versions, now, ignored = emptySet } = update;
  const after = withNullsForAbsent(update.after, schema);
  if (!update.before) return trackCreate({ ...update, after });
  const before = withNullsForAbsent(update.before, schema);
  const entries = entriesToStartFrom(before, after, subresource);
  const all = readManagers(entries);
  if (all.length === 0) return undefined;
  const managers = all.filter((one) => !isStale(one, versions));
  const hasStale = managers.length < all.length;
  if (hasStale && versions?.isCustom) return entriesOf(before) as unknown as ManagedFieldsEntry[] | undefined;

  const { discarded } = update;
  const comparison = orUndefined(() => {
    for (const [key, value] of Object.entries(discarded ?? {}))
      compareObjects({ [key]: before[key] ?? null }, { [key]: value }, schema);
    return compareObjects(before, after, schema);
  });
  if (!comparison) return undefined;
  const notTracked = notTrackedWith(ignored);
  const counted = (set: FieldSet) => withoutSubtrees(difference(set, metadataItself), notTracked);
  const changed = counted(union(comparison.added, comparison.modified));
  const removed = counted(comparison.removed);
  if (!hasStale && isSameComparison({ added: changed, modified: emptySet, removed }))
    return entries as unknown as ManagedFieldsEntry[];

  const id = { manager, operation: 'Update', apiVersion, subresource };
  const self = changed.size > 0 ? findManager(managers, id) : undefined;
  // Most writers change again what they changed before: then their entry stays as it is, and need not be read.
  const isKept = removed.size === 0 && self?.owns(changed) === true;
  const touched = union(changed, removed);
  const changeFor = changeByVersion({ changed, touched }, update.before, update.after, versions, counted);
  for (const one of managers) {
    const lost = changeFor(one).touched;
    if (!(isKept && one === self) && one.mayTouch(lost)) one.set = difference(one.set, lost);
  }
  if (isKept) self!.time = now;
  else if (changed.size > 0) take(managers, id, changed, now);
  const written = writeManagers(managers);
  return written.length > 0 ? written : undefined;
}

/** A new object belongs to whoever made it, whatever entries it brought. */
function trackCreate(update: UpdateToTrack): ManagedFieldsEntry[] | undefined {
  const { after, schema, manager, apiVersion, subresource = '', now, ignored = emptySet } = update;
  const fieldsV1 = orUndefined(() => {
    // Also what does not count must have elements that can be told apart.
    for (const step of ignored.keys()) {
      const key = step.slice(2);
      if (after[key] !== undefined) compareObjects({}, { [key]: after[key] }, schema);
    }
    return fieldsOfNew(after, schema, notTrackedWith(ignored));
  });
  return fieldsV1 && [makeEntry({ manager, operation: 'Update', apiVersion, subresource }, now, fieldsV1)];
}

/** Undefined where an element lacks its key. */
function orUndefined<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (err) {
    if (err instanceof KeylessElementError) return undefined;
    throw err;
  }
}

const notTrackedSets = new WeakMap<FieldSet, FieldSet>();

function notTrackedWith(ignored: FieldSet): FieldSet {
  let set = notTrackedSets.get(ignored);
  if (!set) {
    set = union(neverTracked, ignored);
    notTrackedSets.set(ignored, set);
  }
  return set;
}

/** Gives the writer what it changed, besides what it had and is still there. */
function take(managers: Manager[], id: ManagerId, changed: FieldSet, now: string): void {
  let self = findManager(managers, id);
  if (!self) {
    self = new Manager(id);
    managers.push(self);
  }
  self.set = union(self.set, changed);
  self.time = now;
}

/**
 * The entries of the body if it brought any that can be read, else those of the stored object. None at all, or one that
 * is empty, means: start anew.
 */
function entriesToStartFrom(before: JsonObject, after: JsonObject, subresource: string): JsonValue | undefined {
  const given = subresource === '' ? entriesOf(after) : undefined;
  if (!Array.isArray(given)) return entriesOf(before);
  if (given.length === 0) return undefined;
  if (given.length === 1 && isObject(given[0]) && Object.keys(given[0]).length === 0) return undefined;
  return readManagers(given).length > 0 ? given : entriesOf(before);
}

function entriesOf(object: JsonObject): JsonValue | undefined {
  const { metadata } = object;
  return isObject(metadata) ? metadata.managedFields : undefined;
}
