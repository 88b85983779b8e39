/**
 * Services: what type they are decides nearly everything else about them.
 *
 * The server gives them an address and, where their type wants it, ports on every node; an update that does not name
 * these keeps them, a change of type drops what the new type has no use for. An address never changes once given.
 */
import { type FieldError, invalid, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { jsonEqual } from '../../codec/json/json-objects.ts';
import type { Strategy, StrategyContext } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { type DefaultRow, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { ensureObject, isEmpty, numberAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { rangesOf } from './address-ranges.ts';
import { allocateAddresses, isUniqueAmong, takenBy } from './service-addresses.ts';
import { setFamilies } from './service-families.ts';
import { allocateNodePorts, asksForPorts, chooseHealthPort, DEFAULT_NODE_PORTS } from './service-ports.ts';
import {
  isExternallyAccessible,
  needsHealthPort,
  validateService,
  validateServiceStatus,
  validateServiceUpdate,
} from './service-validation.ts';
import { warningsForBalancer, warningsForService } from './service-warnings.ts';

const ofType =
  (...types: string[]) =>
  (spec: JsonObject) =>
    types.includes(textAt(spec, 'type'));
const isExternal = ofType('ExternalName');
const hasNodePorts = ofType('NodePort', 'LoadBalancer');

const defaults: DefaultRow[] = [
  ['spec.sessionAffinity', 'None'],
  ['spec.sessionAffinityConfig', {}, (spec) => spec.sessionAffinity === 'ClientIP'],
  ['spec.sessionAffinityConfig.clientIP', {}],
  ['spec.sessionAffinityConfig.clientIP.timeoutSeconds', 10800],
  ['spec.type', 'ClusterIP'],
  ['spec.ports[].protocol', 'TCP'],
  ['spec.externalTrafficPolicy', 'Cluster', isExternallyAccessible],
  [
    'spec.internalTrafficPolicy',
    'Cluster',
    (spec) => spec.internalTrafficPolicy !== '' && ofType('ClusterIP', 'NodePort', 'LoadBalancer')(spec),
  ],
  ['spec.allocateLoadBalancerNodePorts', true, ofType('LoadBalancer')],
  ['status.loadBalancer.ingress[].ipMode', 'VIP', (ingress) => ingress.ipMode !== '' && !isEmpty(ingress.ip)],
];
const setTableDefaults = defaultsFrom(defaults);

export const serviceStrategy: Strategy = {
  isUniqueAmong,
  setDefaults: (service) => {
    setTableDefaults(service);
    const spec = specOf(service);
    if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
    for (const port of objectsAt(spec, 'ports')) {
      if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port;
    }
  },
  prepareCreate: async (service, context) => {
    service.status = { loadBalancer: {} };
    const spec = specOf(service);
    if (textAt(spec, 'clusterIP') !== '' && isEmpty(spec.clusterIPs)) spec.clusterIPs = [textAt(spec, 'clusterIP')];
    await allocate(service, undefined, context);
  },
  prepareUpdate: async (service, old, context) => {
    if (context.subresource === 'status') return;
    const [spec, before] = [specOf(service), specOf(old)];
    keepWhatWasGiven(spec, before);
    joinAddresses(spec, before);
    await allocate(service, old, context);
    dropWhatTypeHasNoUseFor(spec, before);
  },
  validate: (service, old, context) =>
    context?.subresource === 'status' ? [] : validateService(service, old && specOf(old)),
  validateUpdate: (service, old, context) =>
    context?.subresource === 'status'
      ? validateServiceStatus(service, old)
      : validateServiceUpdate(specOf(service), specOf(old)),
  warnings: (service, _old, { subresource }) =>
    subresource === 'status' ? warningsForBalancer(service) : warningsForService(service),
};

function specOf(service: KubeObject): JsonObject {
  return ensureObject(service as JsonObject, 'spec');
}

/** `clusterIP` is the first of `clusterIPs`; who changed only the one is taken to mean the other as well. */
function joinAddresses(spec: JsonObject, before: JsonObject): void {
  const [single, was] = [textAt(spec, 'clusterIP'), textAt(before, 'clusterIP')];
  const [all, had] = [textsAt(spec, 'clusterIPs'), textsAt(before, 'clusterIPs')];
  if (had.length > 0 && all.length === 0 && single === was) spec.clusterIPs = [...had];
  if (single === was || all.join() !== had.join()) return;
  if (single === '') delete spec.clusterIPs;
  else spec.clusterIPs = [single];
}

/** An update need not repeat what the server chose. Ports are known by their names. */
function keepWhatWasGiven(spec: JsonObject, before: JsonObject): void {
  if (!isExternal(spec) && !isExternal(before)) {
    if (textAt(spec, 'clusterIP') === '' && textAt(before, 'clusterIP') !== '') spec.clusterIP = before.clusterIP!;
    const isSame = textAt(spec, 'clusterIP') === textAt(before, 'clusterIP');
    if (isEmpty(spec.clusterIPs) && isSame && !isEmpty(before.clusterIPs))
      spec.clusterIPs = structuredClone(before.clusterIPs!);
    if (isEmpty(spec.ipFamilies) && !isEmpty(before.ipFamilies)) spec.ipFamilies = structuredClone(before.ipFamilies!);
  }
  if (hasNodePorts(spec) && hasNodePorts(before)) {
    const given = new Map(objectsAt(before, 'ports').map((port) => [textAt(port, 'name'), port.nodePort]));
    const had = new Set(given.values());
    const used = new Set(
      objectsAt(spec, 'ports')
        .map((port) => port.nodePort)
        .filter((port) => had.has(port)),
    );
    for (const port of objectsAt(spec, 'ports')) {
      const old = given.get(textAt(port, 'name'));
      if (numberAt(port, 'nodePort') || !old || used.has(old)) continue;
      port.nodePort = old;
      used.add(old);
    }
  }
  if (needsHealthPort(spec) && needsHealthPort(before) && !numberAt(spec, 'healthCheckNodePort'))
    spec.healthCheckNodePort = before.healthCheckNodePort!;
}

/** Only what the writer left as it was: what was set on purpose is left for validation to refuse. */
function dropWhatTypeHasNoUseFor(spec: JsonObject, before: JsonObject): void {
  const dropSame = (...fields: string[]) => {
    for (const field of fields) if (jsonEqual(spec[field], before[field])) delete spec[field];
  };
  if (isExternal(spec) && !isExternal(before))
    dropSame('clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy');
  if (!hasNodePorts(spec) && hasNodePorts(before) && nodePortsOf(spec) === nodePortsOf(before))
    for (const port of objectsAt(spec, 'ports')) delete port.nodePort;
  if (!isExternallyAccessible(spec) && isExternallyAccessible(before)) dropSame('externalTrafficPolicy');
  if (!needsHealthPort(spec) && needsHealthPort(before)) dropSame('healthCheckNodePort');
  if (!ofType('LoadBalancer')(spec) && ofType('LoadBalancer')(before))
    dropSame('allocateLoadBalancerNodePorts', 'loadBalancerClass');
}

function nodePortsOf(spec: JsonObject): string {
  const ports = new Set(objectsAt(spec, 'ports').map((port) => numberAt(port, 'nodePort') ?? 0));
  return [...ports].sort().join();
}

/** There is always one once a server has started; who has just started may not have heard of it. */
async function serviceCidrs({ list, listKnown }: StrategyContext): Promise<readonly KubeObject[]> {
  const known = await listKnown('networking.k8s.io', 'servicecidrs');
  return known.length > 0 ? known : list('networking.k8s.io', 'servicecidrs');
}

async function allocate(service: KubeObject, old: KubeObject | undefined, context: StrategyContext): Promise<void> {
  const spec = specOf(service);
  const before = old && specOf(old);
  const ranges = rangesOf(await serviceCidrs(context));
  setFamilies(service, spec, before, ranges.families);
  const isHeld = textsAt(spec, 'ipFamilies').length <= textsAt(before, 'clusterIPs').length;
  const wantsAddress = !isExternal(spec) && !isHeld && textAt(spec, 'clusterIP') !== 'None';
  const needsHealth = needsHealthPort(spec) && !(before && needsHealthPort(before));
  const wantsPorts = hasNodePorts(spec) && asksForPorts(spec, before);
  if (!wantsAddress && !wantsPorts && !needsHealth) return;
  const taken = takenBy(await context.listHeld('', 'services'), service, ranges.ownAddress);
  const seed = service.metadata.uid || `${service.metadata.namespace}/${service.metadata.name}`;
  const choice = { seed, isDryRun: context.isDryRun === true, range: context.nodePorts ?? DEFAULT_NODE_PORTS };
  const errors: FieldError[] = [];
  if (wantsAddress) appendAll(errors, allocateAddresses(spec, before, taken, ranges, choice));
  if (errors.length === 0 && wantsPorts) appendAll(errors, allocateNodePorts(spec, before, taken, choice));
  if (errors.length > 0) throw invalid({ kind: 'Service', group: '' }, service.metadata.name ?? '', errors);
  if (needsHealth) spec.healthCheckNodePort = chooseHealthPort(spec, taken, choice);
}
