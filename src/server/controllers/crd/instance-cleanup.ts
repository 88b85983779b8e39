/**
 * The end of a custom kind: its objects are deleted, those that are held are waited for, and when none is left the
 * definition itself goes, in a transaction that holds only while there is still none.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isStatusError, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { asDefinition, CLEANUP_FINALIZER, conditionOf, withCondition } from '../../apiextensions/definition.ts';
import type { Resource } from '../../registry/resource.ts';
import { deleteObject } from '../../rest/delete.ts';
import { nowInSeconds, type Rest } from '../../rest/rest.ts';
import type { View } from '../../storage/resources.ts';

import type { StoredObject } from '../../storage/stored-object.ts';

/** Deletes that share a flush of the store. */
const AT_ONCE = 50;
const POLL_MS = 50;
const LIMIT_POLL_MS = 2000;
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
  readonly definitions: View;
  readonly name: string;
  /** The resource in whose form the objects are stored. */
  readonly stored: Resource;
  readonly signal: AbortSignal;
};

/** Returns when the definition is gone, or is no longer to be deleted by us. */
export async function removeInstances({ rest, definitions, name, stored, signal }: Cleanup): Promise<void> {
  const view = rest.resources.view(stored);
  const { store, keyPrefix } = view.cache;
  for (let pollMs = POLL_MS; !signal.aborted; pollMs = Math.min(pollMs * 2, LIMIT_POLL_MS)) {
    const definition = await rest.writes.read(definitions, '', name);
    if (!definition || !isOurs(definition)) return;
    const { count } = await store.range({ prefix: keyPrefix }, { limit: 1, keysOnly: true, signal });
    if (count === 0) {
      if (await release(definitions, definition, keyPrefix)) return;
      continue;
    }
    if (!(await tellProgress(rest, definitions, definition))) continue;
    if (!(await removeAll(rest, view, signal))) await delay(pollMs, undefined, { signal, ref: false });
  }
}

/** Asks every object to go; true if at least one went. */
async function removeAll(rest: Rest, view: View, signal: AbortSignal): Promise<boolean> {
  const { store, keyPrefix } = view.cache;
  const end = `${keyPrefix.slice(0, -1)}0`; // the character after the slash
  let hasRemoved = false;
  for (let start = keyPrefix; ; ) {
    const { kvs, more } = await store.range({ start, end }, { limit: AT_ONCE, signal });
    const gone = await Promise.all(kvs.map((kv) => remove(rest, view, view.cache.read(kv))));
    hasRemoved ||= gone.includes(true);
    if (!more) return hasRemoved;
    start = `${kvs.at(-1)!.key}\0`;
  }
}

/** True: it is gone, by us or by somebody else. */
async function remove(rest: Rest, view: View, { namespace, name }: StoredObject): Promise<boolean> {
  try {
    return (await deleteObject(rest, view, { namespace, name, subresource: '' }, PLAIN_DELETE)).isGone;
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
async function tellProgress(rest: Rest, definitions: View, current: StoredObject): Promise<boolean> {
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
  return 'stored' in (await rest.writes.replace(definitions, current, next));
}

/** Takes our finalizer off, and with the last one the definition, if there is still no object of it. */
async function release({ cache }: View, current: StoredObject, instances: string): Promise<boolean> {
  const key = cache.storeKey('', current.name);
  const definition = current.parse();
  const left = (definition.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
  const next = { ...definition, metadata: { ...definition.metadata, finalizers: left } };
  const { succeeded } = await cache.store.txn({
    compare: [
      { range: { key }, target: 'modRevision', is: '=', than: current.revision },
      { range: { prefix: instances }, target: 'modRevision', is: '=', than: 0 },
    ],
    // biome-ignore format: two ways to end
    then: [
      left.length === 0
        ? { kind: 'delete', range: { key } }
        : { kind: 'put', key, value: cache.codec.encode(next) },
    ],
  });
  return succeeded;
}
