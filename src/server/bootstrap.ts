/**
 * What a cluster has before anybody puts something in: namespaces, the system's roles and bindings, flow control. Made
 * when the server starts, if it is not there; what is there is brought up to what the server needs.
 *
 * Always true: done before the first request is let in. Several servers may start on one store: whoever is second finds
 * the object made and leaves it. All writes are under way at once, so that the store commits them together.
 */
import type { KubeObject } from '../api/index.ts';
import { cloneJson } from './codec/index.ts';
import { FLOW_PRODUCER } from './flow-control/upkeep/flow-upkeep.ts';
import { type BootstrapObject, bootstrapObjects } from './rbac/bootstrap-objects.ts';
import { reconciled, refersElsewhere } from './rbac/reconcile.ts';
import type { Rest } from './rest/rest.ts';
import { atHand, createAsServer } from './rest/writing/create-as-server.ts';
import type { ResourceStorage } from './storage/resource-storage.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const FILL_MS = 10_000;

/** Flow control looks after its objects itself from then on, under the name it has on kube-apiserver. */
function managerOf({ kind }: KubeObject): string | undefined {
  return kind === 'FlowSchema' || kind === 'PriorityLevelConfiguration' ? FLOW_PRODUCER : undefined;
}

export async function bootstrap(rest: Rest): Promise<void> {
  const wanted = wantedObjects();
  const storages = storagesOf(rest, wanted);
  await caughtUp(storages);
  await Promise.all(wanted.map(({ plural, object }) => ensure(rest, storages.get(plural)!, object)));
  await caughtUp(storages);
}

/** For a thread of a server whose owner has done that: until it has all of it in its caches. */
export async function untilFilled(rest: Rest): Promise<void> {
  await caughtUp(storagesOf(rest, wantedObjects()));
}

type Storages = ReadonlyMap<string, ResourceStorage>;

function wantedObjects(): BootstrapObject[] {
  const namespaces = NAMESPACES.map((name) => ({
    group: '',
    plural: 'namespaces',
    object: { kind: 'Namespace', apiVersion: 'v1', metadata: { name } } as KubeObject,
  }));
  return [...namespaces, ...bootstrapObjects()];
}

function storagesOf(rest: Rest, wanted: readonly BootstrapObject[]): Storages {
  return new Map(wanted.map(({ group, plural }) => [plural, rest.storages.storageOf(group, plural)]));
}

async function caughtUp(storages: Storages): Promise<void> {
  const { signal } = new AbortController();
  await Promise.all([...storages.values()].map(({ objects }) => objects.catchUp(FILL_MS, signal)));
}

async function ensure(rest: Rest, storage: ResourceStorage, wanted: KubeObject): Promise<void> {
  const found = await atHand(storage, wanted.metadata);
  if (!found) return create(rest, storage, wanted);
  const stored = storage.toObject(found);
  if (refersElsewhere(stored, wanted)) {
    await storage.delete(found);
    return create(rest, storage, wanted);
  }
  const better = reconciled(stored, wanted);
  // Lost to another server: it wanted the same.
  if (better) await storage.update(found, better);
}

/** A copy, since what is stored is prepared in place, and what is wanted is wanted by every server of this process. */
function create(rest: Rest, storage: ResourceStorage, wanted: KubeObject): Promise<void> {
  return createAsServer(rest, storage, cloneJson(wanted as never) as KubeObject, managerOf(wanted));
}
