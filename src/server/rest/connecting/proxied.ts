/**
 * `proxy` of Pods, Services and Nodes: a request that is passed on to what runs there, of which this server has nothing.
 * Everything up to the connection is real: who may, what admission says of it, whom the name and its port mean, whether that
 * may be connected to. Then it ends with a sentence.
 *
 * A name may have a scheme in front and a port behind it (`https:a:8443`).
 */
import { isIP } from 'node:net';
import { badRequest, type JsonObject, type KubeObject, quote, serviceUnavailable } from '../../../api/index.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import type { Rest } from '../rest.ts';
import { mustRead, type Place } from '../writing/write.ts';
import { admitConnection } from './connection.ts';
import { mustHaveAddress } from './pod-location.ts';
import { proxyOptionsType } from './pod-options.ts';

type Target = { readonly name: string; readonly port: string };

const SCHEMES = ['', 'http', 'https'];
const SERVICE_LABEL = 'kubernetes.io/service-name';

export async function handleProxied(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const { kind, plural } = storage.resource;
  const path = pathBeyond(context);
  const type = proxyOptionsType(kind);
  const options: JsonObject = { kind: type.kind, apiVersion: 'v1', ...(path !== '' && { path }) };
  await admitConnection(rest, context, { resource: storage.resource, place, bodyType: type }, options);
  const target = readTarget(place.name, kind);
  const at = { ...place, name: target.name };
  if (plural === 'pods') mustBeProxyable(storage.toObject(await mustRead(storage, at)));
  else if (plural === 'services') await mustHaveEndpoints(rest, context, storage, at, target);
  else await mustHaveAddress(rest, target.name);
  throw serviceUnavailable('error trying to reach service: this server does not connect to what runs in a cluster');
}

/** What follows the subresource, with the slash at its end if there is one. */
function pathBeyond({ requestInfo, path }: RequestContext): string {
  const beyond = requestInfo.kind === 'resource' ? requestInfo.rest.map((segment) => `/${segment}`).join('') : '';
  return path.endsWith('/') ? `${beyond}/` : beyond;
}

function readTarget(id: string, kind: string): Target {
  const parts = id.split(':');
  const [scheme = '', name = '', port = ''] = parts.length < 3 ? ['', ...parts] : parts;
  if (parts.length > 3 || name === '' || !SCHEMES.includes(scheme))
    throw badRequest(`invalid ${kind.toLowerCase()} request ${quote(id)}`);
  return { name, port };
}

function mustBeProxyable(pod: KubeObject): void {
  const status = objectAt(pod as JsonObject, 'status');
  const [first] = objectsAt(status, 'podIPs');
  if (!isGlobal(textAt(first, 'ip') || textAt(status, 'podIP'))) throw badRequest('address not allowed');
}

/** Neither this machine nor its own link, and not a group of others. */
function isGlobal(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  const text = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  if (isIP(text) === 4) {
    const [first = 0, second = 0] = text.split('.').map(Number);
    const isNobody = text === '0.0.0.0' || text === '255.255.255.255';
    return !isNobody && first !== 127 && !(first === 169 && second === 254) && !(first >= 224 && first < 240);
  }
  return text !== '::' && text !== '::1' && !/^(?:fe[89ab]|ff)/.test(text);
}

async function mustHaveEndpoints(
  rest: Rest,
  context: RequestContext,
  services: ResourceStorage,
  at: Place,
  { name, port }: Target,
): Promise<void> {
  const service = services.toObject(await mustRead(services, at));
  let wanted = port;
  if (/^[+-]?\d+$/.test(port)) {
    const ports = objectsAt(objectAt(service as JsonObject, 'spec'), 'ports');
    const found = ports.find((one) => numberAt(one, 'port') === Number(port));
    if (!found) throw serviceUnavailable(`no service port ${Number(port)} found for service ${quote(name)}`);
    wanted = textAt(found, 'name');
  }
  const { list } = rest.strategyContext(context, at.subresource);
  const slices = await list('discovery.k8s.io', 'endpointslices', at.namespace);
  const hasReady = slices
    .filter(({ metadata }) => metadata.labels?.[SERVICE_LABEL] === name)
    .filter((slice) => objectsAt(slice as JsonObject, 'ports').some((one) => textAt(one, 'name') === wanted))
    .flatMap((slice) => objectsAt(slice as JsonObject, 'endpoints'))
    .some((endpoint) => objectAt(endpoint, 'conditions')?.ready !== false);
  if (!hasReady) throw serviceUnavailable(`no endpoints available for service ${quote(name)}`);
}
