/**
 * What a cluster has before anybody puts something in: namespaces, the system's roles and bindings, flow control. Made
 * when the server starts, if it is not there; what is there is brought up to what the server needs.
 *
 * Always true: done before the first request is let in. Several servers may start on one store: whoever is second finds
 * the object made and leaves it. All writes are under way at once, so that the store commits them together.
 */
import type { KubeObject } from '../api/index.ts';
import { CreateRight } from './auth/create-right.ts';
import { FLOW_PRODUCER } from './flow-control/upkeep/flow-upkeep.ts';
import { type BootstrapObject, bootstrapObjects } from './rbac/bootstrap-objects.ts';
import { reconciled, refersElsewhere } from './rbac/reconcile.ts';
import { prepareCreate } from './rest/prepare.ts';
import type { Rest } from './rest/rest.ts';
import { serverItself } from './rest/server-itself.ts';
import type { View } from './storage/resources.ts';
import type { StoredObject } from './storage/stored-object.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const MANAGER = 'longwatch';
const FILL_MS = 10_000;

/** Flow control looks after its objects itself from then on, under the name it has on the reference server. */
function managerOf({ kind }: KubeObject): string {
  return kind === 'FlowSchema' || kind === 'PriorityLevelConfiguration' ? FLOW_PRODUCER : MANAGER;
}

export async function bootstrap(rest: Rest): Promise<void> {
  const namespaces = NAMESPACES.map((name) => ({
    group: '',
    plural: 'namespaces',
    object: { kind: 'Namespace', apiVersion: 'v1', metadata: { name } } as KubeObject,
  }));
  const wanted: BootstrapObject[] = [...namespaces, ...bootstrapObjects()];
  const views = new Map(wanted.map(({ group, plural }) => [plural, rest.resources.viewOf(group, plural)]));
  const settle = () =>
    Promise.all([...views.values()].map(({ cache }) => cache.isKept && cache.waitForNow(FILL_MS, serverItself.signal)));
  await settle();
  await Promise.all(wanted.map(({ plural, object }) => ensure(rest, views.get(plural)!, object)));
  await settle();
}

async function ensure(rest: Rest, view: View, wanted: KubeObject): Promise<void> {
  const found = await findStored(rest, view, wanted.metadata);
  if (!found) return createAsServer(rest, view, wanted);
  const stored = view.toObject(found);
  if (refersElsewhere(stored, wanted)) {
    await rest.writes.remove(view, found);
    return createAsServer(rest, view, wanted);
  }
  const better = reconciled(stored, wanted);
  // Lost to another server: it wanted the same.
  if (better) await rest.writes.replace(view, found, better);
}

/** The newest there is, as far as this server knows. */
export async function findStored(
  rest: Rest,
  view: View,
  { namespace = '', name = '' }: KubeObject['metadata'],
): Promise<StoredObject | undefined> {
  if (view.cache.isKept) return view.cache.objects.get(namespace === '' ? name : `${namespace}/${name}`);
  return rest.writes.read(view, namespace, name);
}

/** A status that is given is kept: nobody else writes it. */
export async function createAsServer(rest: Rest, view: View, object: KubeObject): Promise<void> {
  const { status } = object;
  const tracking = { manager: managerOf(object) };
  const prepared = await prepareCreate(view, object, tracking, rest.ruleContext(serverItself, ''));
  if (status !== undefined) prepared.status = status;
  await rest.writes.create(view, prepared, CreateRight.ofServer).catch((err: { code?: number }) => {
    if (err.code !== 409) throw err; // another server on the same store was faster
  });
}
