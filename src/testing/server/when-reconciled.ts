/**
 * When a controller has dealt with an object as it is on the server now: its cache has that version (or knows that the
 * object is gone), and the key neither waits nor is worked on nor has failed. A later `requeueAfter` is not waited for.
 *
 * It fails after `timeoutMs` of real time with what it was waiting for.
 */
import { type AnyObject, isApiError, type KubeClient } from '../../client/index.ts';
import type { ManagedController } from '../../controller/index.ts';
import type { Patience } from '../eventually.ts';

const PATIENCE_MS = 20_000;
/** From the cache to the queue an event takes a few turns. */
const QUIET_TURNS = 20;

export async function whenReconciled(
  client: KubeClient,
  controller: ManagedController,
  key: string,
  { timeoutMs = PATIENCE_MS }: Patience = {},
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  let isKnown = false;
  for (let quiet = 0; quiet < QUIET_TURNS; ) {
    if (!isKnown) isKnown = await knowsNewest(client, controller, key);
    const waitsFor = isKnown ? workLeft(controller, key) : 'the cache does not have what the server has';
    quiet = waitsFor === undefined ? quiet + 1 : 0;
    if (waitsFor !== undefined && performance.now() > giveUpAt)
      throw new Error(`Cannot see "${key}" reconciled by "${controller.name}" within ${timeoutMs} ms: ${waitsFor}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function knowsNewest(client: KubeClient, controller: ManagedController, key: string): Promise<boolean> {
  const informer = controller.informers[0];
  if (!informer?.isSynced) return false;
  const newest = await read(client, informer.resource, key);
  const known = informer.get(key);
  if (!newest || !known) return newest === known;
  return known.metadata.resourceVersion === newest.metadata.resourceVersion;
}

async function read(
  client: KubeClient,
  resource: ManagedController['informers'][number]['resource'],
  key: string,
): Promise<AnyObject | undefined> {
  const [name = '', namespace] = key.split('/').reverse();
  try {
    return await client.resource(resource, namespace).get(name);
  } catch (err) {
    if (isApiError(err, 'NotFound')) return undefined;
    throw err;
  }
}

/** Undefined if there is none. */
function workLeft(controller: ManagedController, key: string): string | undefined {
  const { currentRun } = controller;
  if (!currentRun) return 'the controller does not run yet';
  if (controller.running().some((work) => work.key === key)) return 'it is being reconciled';
  if (currentRun.queue.depth > 0) return 'keys wait in the queue';
  const failures = currentRun.queue.retries(key);
  return failures > 0 ? `it has failed ${failures} times and waits to be tried again` : undefined;
}
