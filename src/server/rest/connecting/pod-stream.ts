/**
 * `exec`, `attach` and `portforward`: connections to a container, of which this server has none. Everything up to the
 * kubelet is real: who may, what admission says of it, which container, which node. Then they end with a sentence.
 *
 * Reading is not enough: who may `get` must also be allowed to `create`, whatever the method, as a client that upgrades
 * to a WebSocket has to ask with GET.
 */
import { badRequest, quote } from '../../../api/index.ts';
import { attributesOf, forbiddenBy } from '../../auth/authorizer.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import type { Rest } from '../rest.ts';
import { mustRead, type Place } from '../writing/write.ts';
import { admitConnection } from './connection.ts';
import { cannotDial, chooseContainer, mustBePretended, noHostAssigned, type PodObject } from './pod-location.ts';
import { readStreamOptions, streamOptionsType } from './pod-options.ts';

export async function handlePodStream(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const { name, subresource } = place;
  const asked = { resource: storage.resource, place, bodyType: streamOptionsType(subresource) };
  const options = readStreamOptions(subresource, context.query);
  const { container = '' } = (await admitConnection(rest, context, asked, options)) as { container?: string };
  await mustBeAllowedToCreate(rest, context);
  const pod = storage.toObject(await mustRead(storage, place)) as PodObject;
  if (subresource !== 'portforward') chooseContainer(pod, container);
  const { nodeName } = pod.spec ?? {};
  if (!nodeName) throw noHostAssigned(name);
  await mustBePretended(rest, nodeName);
  if (!isUpgrade(context)) throw badRequest('Upgrade request required');
  throw cannotDial(`node ${quote(nodeName)} is only pretended, and nothing runs there`);
}

async function mustBeAllowedToCreate(rest: Rest, { user, method, path, requestInfo }: RequestContext): Promise<void> {
  const attributes = attributesOf(method, path, requestInfo);
  if (attributes.verb === 'create') return; // the chain has asked
  const wanted = { ...attributes, verb: 'create' };
  const { allowed, reason } = await rest.authorizer.authorize(user, wanted);
  if (!allowed) throw forbiddenBy(user, wanted, reason);
}

function isUpgrade({ headers }: RequestContext): boolean {
  return (headers.connection ?? '').toLowerCase().includes('upgrade');
}
