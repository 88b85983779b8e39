/**
 * The end of a custom kind: its objects are deleted, those that are held are waited for, and when none is left the
 * definition itself goes, in a transaction that holds only while there is still none.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isStatusError, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { asDefinition, CLEANUP_FINALIZER, conditionOf, withCondition } from '../../apiextensions/definition.ts';
import type { Resource } from '../../registry/resource.ts';
import { nowInSeconds, type Rest } from '../../rest/rest.ts';
import { deleteObject } from '../../rest/writing/delete.ts';
import type { WriteGuard } from '../../storage/object-storage.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';

/** Deletes that share a flush of the store. */
const AT_ONCE = 50;
const POLL_MS = 50;
const LIMIT_POLL_MS = 2000;
const ALL_NOW = { scope: '', at: { resourceVersion: '' } };
const PLAIN_DELETE = {
  isDryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  preconditions: undefined,
} as const;

export type Cleanup = {
  readonly rest: Rest;
  /** Of the definitions. */
  readonly definitions: ResourceStorage;
  readonly name: string;
  /** The resource in whose form the objects are stored. */
  readonly stored: Resource;
  readonly signal: AbortSignal;
};

/** Returns when the definition is gone, or is no longer to be deleted by us. */
export async function removeInstances({ rest, definitions, name, stored, signal }: Cleanup): Promise<void> {
  const storage = rest.storages.storageFor(stored);
  const { direct, keys } = storage.objects; // the kind may have no watch cache any more
  for (let pollMs = POLL_MS; !signal.aborted; pollMs = Math.min(pollMs * 2, LIMIT_POLL_MS)) {
    const definition = await definitions.read('', name);
    if (!definition || !isOurs(definition)) return;
    const { count } = await direct.list({ ...ALL_NOW, start: '', limit: 1, signal });
    if (count === 0) {
      if (await release(definitions, definition, { whileNone: keys })) return;
      continue;
    }
    if (!(await tellProgress(definitions, definition))) continue;
    if (!(await removeAll(storage, signal))) await delay(pollMs, undefined, { signal, ref: false });
  }
}

/** Asks every object to go; true if at least one went. */
async function removeAll(storage: ResourceStorage, signal: AbortSignal): Promise<boolean> {
  let hasRemoved = false;
  for (let start = ''; ; ) {
    const { objects, count } = await storage.objects.direct.list({ ...ALL_NOW, start, limit: AT_ONCE, signal });
    // One after the other, as a collection is deleted: watchers see them go in the order of their keys.
    for (const object of objects) {
      signal.throwIfAborted();
      if (await remove(storage, object)) hasRemoved = true;
    }
    if (count <= objects.length) return hasRemoved;
    start = `${objects.at(-1)!.key}\0`;
  }
}

/** True: it is gone, by us or by somebody else. */
async function remove(storage: ResourceStorage, { namespace, name }: StoredObject): Promise<boolean> {
  try {
    return (await deleteObject(storage, { namespace, name, subresource: '' }, PLAIN_DELETE)).isGone;
  } catch (err) {
    if (isStatusError(err, 'NotFound')) return true;
    throw err;
  }
}

function isOurs(definition: StoredObject): boolean {
  const { deletionTimestamp, finalizers } = definition.parse().metadata;
  return deletionTimestamp !== undefined && (finalizers ?? []).includes(CLEANUP_FINALIZER);
}

/** False: the definition has changed meanwhile. */
async function tellProgress(definitions: ResourceStorage, current: StoredObject): Promise<boolean> {
  const definition = asDefinition(current.parse());
  if (conditionOf(definition, 'Terminating')?.reason === 'InstanceDeletionInProgress') return true;
  const { status } = definition;
  const conditions = withCondition(
    status.conditions,
    {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: 'CustomResource deletion is in progress',
    },
    nowInSeconds(),
  );
  const next = { ...definition, status: { ...status, conditions } as unknown as JsonObject } as KubeObject;
  return 'stored' in (await definitions.update(current, next));
}

/** Takes our finalizer off, and with the last one the definition, if there is still no object of it. */
async function release(definitions: ResourceStorage, current: StoredObject, guard: WriteGuard): Promise<boolean> {
  const definition = current.parse();
  const left = (definition.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
  if (left.length === 0) return 'deleted' in (await definitions.delete(current, guard));
  const next = { ...definition, metadata: { ...definition.metadata, finalizers: left } };
  return 'stored' in (await definitions.update(current, next, guard));
}
