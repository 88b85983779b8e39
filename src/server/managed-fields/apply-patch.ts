/**
 * Server-side apply: the body says which fields its manager wants, and with that which it owns.
 *
 * The body is laid over the live object; fields the manager applied before and left out now are removed unless somebody
 * else owns them. A field that another manager owns and that would change is a conflict (409), or is taken over when
 * forced. Plain writers never conflict; they are `trackUpdate`'s.
 *
 * The answer carries its managedFields. Apply that changes nothing but ownership leaves the manager's time alone.
 */

import { quote } from '../../api/field-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { plainError, type StatusCause, StatusError } from '../../api/status-error.ts';
import { isObject } from '../codec/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects, isSameComparison } from './compare.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  leaf,
  pathsOf,
  pathText,
  union,
  withoutSubtrees,
} from './field-set.ts';
import { findManager, Manager, readManagers, writeManagers } from './managers.ts';
import { mergeTyped, removeUnowned, withoutFields } from './merge-typed.ts';
import { setOfObject, TypedError } from './object-set.ts';
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
  readonly force?: boolean;
  readonly now: string;
  /** Fields that this resource does not take, with all below them: `status`, or all but it. */
  readonly ignored?: FieldSet;
};

export function applyPatch(request: ApplyRequest): JsonObject {
  const { live, body, schema, manager, apiVersion, subresource = '', force = false, now, ignored = emptySet } = request;
  const asked = askedFields(body, schema);
  const base = live ?? {};
  const managers = readManagers(live ? (entriesOf(live) ?? firstEntries(request)) : undefined);
  const id = { manager, operation: 'Apply', apiVersion, subresource };
  const former = findManager(managers, id);
  const others = managers.filter((other) => other !== former);

  const bare = withManagedFields(base, undefined);
  const applied = withoutSubtrees(asked, ignored);
  const merged = mergeTyped(bare, withoutFields(body, ignored), schema);
  const owned = others.reduce((set, other) => union(set, other.set), applied);
  const object = former ? removeUnowned(merged, former.set, owned, schema) : merged;

  const { added, modified, removed } = compareObjects(bare, object, schema);
  const changed = tracked(union(added, modified));
  const conflicts = conflictsWith(others, changed);
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  for (const other of others)
    if (other.mayTouch(union(changed, removed))) other.set = difference(other.set, union(changed, removed));

  const isSame = live !== undefined && isSameComparison({ added, modified, removed });
  const self = new Manager(id, isSame ? former?.time : now);
  self.set = tracked(applied);
  return withManagedFields(isSame ? bare : object, writeManagers([...others, self]));
}

type Conflict = { readonly manager: Manager; readonly path: string };

function conflictsWith(others: readonly Manager[], changed: FieldSet): Conflict[] {
  return others
    .filter((other) => other.mayTouch(changed))
    .flatMap((manager) =>
      pathsOf(intersection(manager.set, changed)).map((path) => ({ manager, path: pathText(path) })),
    );
}

function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes: StatusCause[] = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(manager)}`,
    field: path,
  }));
  return new StatusError({ code: 409, reason: 'Conflict', message: conflictText(conflicts), details: { causes } });
}

function conflictText(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first)
    return `Apply failed with 1 conflict: conflict with ${managerText(first.manager)}: ${first.path}`;
  const lines: string[] = [];
  for (const manager of new Set(conflicts.map((conflict) => conflict.manager))) {
    lines.push(`conflicts with ${managerText(manager)}:`);
    for (const conflict of conflicts) if (conflict.manager === manager) lines.push(`- ${conflict.path}`);
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function managerText({ id, isApplier }: Manager): string {
  const where = id.subresource === '' ? '' : ` with subresource ${quote(id.subresource)}`;
  return `${quote(id.manager)}${where}${isApplier ? '' : ` using ${id.apiVersion}`}`;
}

function askedFields(body: JsonObject, schema: Schema): FieldSet {
  try {
    return setOfObject(body, schema);
  } catch (err) {
    if (!(err instanceof TypedError)) throw err;
    const metadata = isObject(body.metadata) ? body.metadata : {};
    const apiVersion = String(body.apiVersion);
    const type = `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${body.kind}`;
    const name = `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
    throw plainError(`failed to create typed patch object (${name}; ${type}): ${err.message}`, { cause: err });
  }
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
  return { ...object, metadata: entries?.length ? { ...rest, managedFields: entries as unknown as JsonValue } : rest };
}
