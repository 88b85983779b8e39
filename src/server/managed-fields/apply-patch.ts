/**
 * Server-side apply: the body says which fields its manager wants, and with that which it owns.
 *
 * The body is laid over the live object; fields the manager applied before and left out now are removed unless somebody
 * else owns them. A field that another manager owns and that would change is a conflict (409), or is taken over when
 * forced. Plain writers never conflict; they are `trackUpdate`'s.
 *
 * The answer carries its managedFields. Apply that changes nothing but ownership leaves the manager's time alone.
 */

import { quote } from '../../api/errors/field-error.ts';
import { plainError, type StatusCause, StatusError } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, jsonEqual } from '../codec/json/json-objects.ts';
import { withNullsForAbsent } from '../codec/written-nulls.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects } from './compare.ts';
import { type Change, changeByVersion, type EntryVersions, withoutStale } from './entry-versions.ts';
import { type FieldPattern, within } from './field-sets/field-pattern.ts';
import {
  countPaths,
  difference,
  emptySet,
  type FieldSet,
  intersection,
  leaf,
  pathsOf,
  pathText,
  union,
  unionAll,
  withoutSubtrees,
} from './field-sets/field-set.ts';
import { KeylessElementError } from './field-sets/field-shape.ts';
import { setOfObject, TypedError } from './field-sets/object-set.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import { findManager, Manager, readManagers, writeManagers } from './managers.ts';
import { mergeTyped } from './merge-typed.ts';
import { removeUnowned } from './prune.ts';
import { neverTracked, trackUpdate } from './track-update.ts';

export type ApplyRequest = {
  /** The stored object; absent if the apply creates it. */
  readonly live?: JsonObject;
  /** The body, with apiVersion, kind and metadata.name, as it was sent. */
  readonly body: JsonObject;
  readonly schema: Schema;
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  /** Absent: entries may be in any. */
  readonly versions?: EntryVersions;
  readonly force?: boolean;
  readonly now: string;
  /** Fields that nobody owns by writing here, with all below them: `status`, or all but it. What becomes of them is not decided here. */
  readonly ignored?: FieldSet;
  /** Of a part of the object: nobody owns anything else by writing to it. */
  readonly ownable?: FieldPattern;
};

export function applyPatch(request: ApplyRequest): JsonObject {
  for (const steps = applySteps(request); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same in steps: an object as large as they come takes long, and between two steps others may have their turn. */
export function* applySteps(request: ApplyRequest): Generator<undefined, JsonObject, undefined> {
  try {
    return yield* typedSteps(request);
  } catch (err) {
    if (!(err instanceof KeylessElementError) && !(err instanceof TypedError)) throw err;
    const which = err instanceof TypedError ? 'patch' : 'live';
    throw plainError(`failed to create typed ${which} object (${objectText(request)}): ${err.message}`, { cause: err });
  }
}

function* typedSteps(request: ApplyRequest): Generator<undefined, JsonObject, undefined> {
  const { live, body, schema, manager, apiVersion, subresource = '', force = false, now, ignored = emptySet } = request;
  const { ownable, versions } = request;
  const counted = (set: FieldSet) => (ownable ? within(set, ownable) : withoutSubtrees(set, ignored));
  const asked = setOfObject(body, schema);
  yield;
  const base = live ?? {};
  const all = readManagers(live ? (entriesOf(live) ?? firstEntries(request)) : undefined);
  const managers = withoutStale(all, versions);
  const id = { manager, operation: 'Apply', apiVersion, subresource };
  const former = findManager(managers, id);
  const others = managers.filter((other) => other !== former);

  const bare = withNullsForAbsent(withManagedFields(base, undefined), schema);
  const applied = counted(asked);
  const merged = mergeTyped(bare, body, schema);
  yield;
  const owned = unionAll([applied, ...others.map((other) => other.set)]);
  const object = former ? removeUnowned(merged, former.set, owned, schema) : merged;

  yield;
  // Of what is new nobody else has anything.
  if (live) {
    const { added, modified, removed: gone } = compareObjects(bare, object, schema);
    yield;
    const changed = tracked(counted(union(added, modified)));
    const removed = counted(gone);
    const own = { changed, touched: union(changed, removed) };
    const plain = withManagedFields(base, undefined);
    const changeFor = changeByVersion(own, plain, object, versions, (set) => tracked(counted(set)));
    if (!force) {
      const allowed = lastAppliedFields(bare, schema, manager, apiVersion);
      const conflicts = conflictsWith(others, changeFor, allowed);
      if (conflicts.length > 0) throw applyConflict(conflicts);
    }
    for (const other of others) {
      const { touched } = changeFor(other);
      if (other.mayTouch(touched)) other.set = difference(other.set, touched);
    }
  }

  const isSame = live !== undefined && jsonEqual(bare, object); // the order of a list counts, though nobody owns it
  yield;
  const self = new Manager(id, isSame ? findManager(all, id)?.time : now);
  self.set = tracked(applied);
  const result = withLastApplied(isSame ? bare : object, body, manager);
  return withManagedFields(result, writeManagers([...others, self]));
}

/** What one manager owns and would lose. */
type Conflict = { readonly manager: Manager; readonly fields: FieldSet };

/** An answer has no room for more; who has so many conflicts is told how many. */
const maxToldConflicts = 1000;

function conflictsWith(
  others: readonly Manager[],
  changeFor: (manager: Manager) => Change,
  allowed: FieldSet,
): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const manager of others) {
    const changed = difference(changeFor(manager).changed, allowed);
    const fields = manager.mayTouch(changed) ? intersection(manager.set, changed) : emptySet;
    if (fields.size > 0) conflicts.push({ manager, fields });
  }
  return conflicts;
}

function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const count = conflicts.reduce((sum, { fields }) => sum + countPaths(fields), 0);
  const causes: StatusCause[] = [];
  const lines: string[] = [];
  for (const { manager, fields } of conflicts) {
    if (causes.length === maxToldConflicts) break;
    const who = managerText(manager);
    lines.push(`conflicts with ${who}:`);
    for (const path of pathsOf(fields)) {
      if (causes.length === maxToldConflicts) break;
      const field = pathText(path);
      lines.push(`- ${field}`);
      causes.push({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field });
    }
  }
  const [only] = causes;
  const message =
    count === 1 && only
      ? `Apply failed with 1 conflict: ${only.message}: ${only.field}`
      : `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes } });
}

function managerText({ id, isApplier }: Manager): string {
  const where = id.subresource === '' ? '' : ` with subresource ${quote(id.subresource)}`;
  return `${quote(id.manager)}${where}${isApplier ? '' : ` using ${id.apiVersion}`}`;
}

function objectText({ body }: ApplyRequest): string {
  const metadata = isObject(body.metadata) ? body.metadata : {};
  const apiVersion = String(body.apiVersion);
  const type = `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${body.kind}`;
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${type}`;
}

/** An object from before there was tracking: all that is in it belongs to nobody in particular. */
function firstEntries({ live, schema, apiVersion, now, ignored = emptySet }: ApplyRequest): JsonValue | undefined {
  const manager = 'before-first-apply';
  return trackUpdate({ after: live!, schema, manager, apiVersion, now, ignored }) as unknown as JsonValue;
}

function tracked(set: FieldSet): FieldSet {
  return withoutSubtrees(difference(set, new Map([['f:metadata', leaf]])), neverTracked);
}

function entriesOf(object: JsonObject): JsonValue | undefined {
  const entries = isObject(object.metadata) ? object.metadata.managedFields : undefined;
  return Array.isArray(entries) && entries.length > 0 ? entries : undefined;
}

function withManagedFields(object: JsonObject, entries: ReturnType<typeof writeManagers> | undefined): JsonObject {
  const metadata = isObject(object.metadata) ? object.metadata : undefined;
  if (!entries && metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...rest } = metadata ?? {};
  if (entries?.length) rest.managedFields = entries as unknown as JsonValue;
  return { ...object, metadata: rest };
}
