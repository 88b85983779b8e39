/**
 * Services: what type they are decides nearly everything else about them.
 *
 * The server gives them an address and, where their type wants it, ports on every node; an update that does not name
 * these keeps them, a change of type drops what the new type has no use for. An address never changes once given.
 */
import { type FieldError, invalid, invalidValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { jsonEqual } from '../../codec/json-objects.ts';
import { appendAll } from '../engine/append-all.ts';
import { type DefaultRow, defaultsFrom } from '../engine/field-table.ts';
import { ensureObject, fill, isEmpty, numberAt, objectAt, objectsAt, textAt, textsAt } from '../engine/fields.ts';
import type { KindRules, RuleContext } from '../kind-rules.ts';
import { allocateNodePorts, checkAddress, chooseAddress, chooseNodePort, takenBy } from './service-addresses.ts';
import { validateService } from './service-validation.ts';

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
  ['spec.externalTrafficPolicy', 'Cluster', (spec) => hasNodePorts(spec) || !isEmpty(spec.externalIPs)],
  ['spec.internalTrafficPolicy', 'Cluster', (spec) => !isExternal(spec)],
  ['spec.allocateLoadBalancerNodePorts', true, ofType('LoadBalancer')],
  ['status.loadBalancer.ingress[].ipMode', 'VIP', (ingress) => !isEmpty(ingress.ip)],
];
const setTableDefaults = defaultsFrom(defaults);

export const serviceRules: KindRules = {
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
    joinAddresses(specOf(service), undefined);
    await allocate(service, undefined, context);
  },
  prepareUpdate: async (service, old, context) => {
    if (context.subresource === 'status') return;
    const [spec, before] = [specOf(service), specOf(old)];
    keepWhatWasGiven(spec, before);
    joinAddresses(spec, before);
    dropWhatTypeHasNoUseFor(spec, before);
    await allocate(service, old, context);
  },
  validate: validateService,
  validateUpdate: (service, old) => {
    const [spec, before] = [specOf(service), specOf(old)];
    if (isExternal(spec) || isExternal(before)) return [];
    const [had, has] = [textsAt(before, 'clusterIPs'), textsAt(spec, 'clusterIPs')];
    return had[0] !== undefined && had[0] !== has[0]
      ? [invalidValue('spec.clusterIPs[0]', has, 'may not change once set')]
      : [];
  },
};

function specOf(service: KubeObject): JsonObject {
  return ensureObject(service as JsonObject, 'spec');
}

/** `clusterIP` is the first of `clusterIPs`; whichever of the two was changed tells the other. */
function joinAddresses(spec: JsonObject, before: JsonObject | undefined): void {
  const [single, all] = [textAt(spec, 'clusterIP'), textsAt(spec, 'clusterIPs')];
  if (single !== '' && (all.length === 0 || (before && single !== textAt(before, 'clusterIP') && all[0] !== single)))
    spec.clusterIPs = [single, ...all.slice(1)];
  else if (single === '' && all.length > 0 && !before) spec.clusterIP = all[0];
}

/** An update need not repeat what the server chose. */
function keepWhatWasGiven(spec: JsonObject, before: JsonObject): void {
  if (!isExternal(spec) && !isExternal(before)) {
    if (textAt(spec, 'clusterIP') === '' && textsAt(spec, 'clusterIPs').length === 0) {
      fill(spec, { clusterIP: before.clusterIP ?? '', clusterIPs: before.clusterIPs ?? null });
      if (isEmpty(spec.clusterIPs)) delete spec.clusterIPs;
    }
    for (const field of ['ipFamilies', 'ipFamilyPolicy']) {
      if (isEmpty(spec[field]) && !isEmpty(before[field])) spec[field] = structuredClone(before[field]);
    }
  }
  if (!hasNodePorts(spec) || !hasNodePorts(before)) return;
  const given = new Map(objectsAt(before, 'ports').map((port) => [`${port.protocol}/${port.port}`, port.nodePort]));
  const used = new Set(objectsAt(spec, 'ports').map((port) => port.nodePort));
  for (const port of objectsAt(spec, 'ports')) {
    const old = given.get(`${port.protocol}/${port.port}`);
    if (!numberAt(port, 'nodePort') && old && !used.has(old)) port.nodePort = old;
  }
  if (needsHealthPort(spec) && needsHealthPort(before) && !numberAt(spec, 'healthCheckNodePort'))
    spec.healthCheckNodePort = before.healthCheckNodePort;
}

/** Only what the writer left as it was: what was set on purpose is left for validation to refuse. */
function dropWhatTypeHasNoUseFor(spec: JsonObject, before: JsonObject): void {
  if (isExternal(spec) && !isExternal(before)) {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']) {
      if (jsonEqual(spec[field], before[field])) delete spec[field];
    }
  }
  if (!hasNodePorts(spec) && hasNodePorts(before)) {
    const given = new Set(objectsAt(before, 'ports').map((port) => port.nodePort));
    for (const port of objectsAt(spec, 'ports')) if (given.has(port.nodePort)) delete port.nodePort;
    if (spec.externalTrafficPolicy === before.externalTrafficPolicy && isEmpty(spec.externalIPs))
      delete spec.externalTrafficPolicy;
  }
  if (!needsHealthPort(spec) && spec.healthCheckNodePort === before.healthCheckNodePort)
    delete spec.healthCheckNodePort;
  if (!ofType('LoadBalancer')(spec)) {
    for (const field of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'])
      if (spec[field] === before[field]) delete spec[field];
  }
}

function needsHealthPort(spec: JsonObject): boolean {
  return textAt(spec, 'type') === 'LoadBalancer' && textAt(spec, 'externalTrafficPolicy') === 'Local';
}

async function allocate(service: KubeObject, old: KubeObject | undefined, context: RuleContext): Promise<void> {
  const spec = specOf(service);
  if (isExternal(spec)) return;
  setFamilies(spec);
  const isGiven = old !== undefined && textAt(objectAt(old as JsonObject, 'spec'), 'clusterIP') !== '';
  const isHeadless = textAt(spec, 'clusterIP') === 'None';
  const wantsPorts = hasNodePorts(spec) && spec.allocateLoadBalancerNodePorts !== false;
  if ((isGiven || isHeadless) && !wantsPorts && !needsHealthPort(spec)) return;
  const taken = takenBy(await context.list('', 'services'), service);
  const seed = service.metadata.uid || `${service.metadata.namespace}/${service.metadata.name}`;
  const errors: FieldError[] = [];
  if (!isGiven && !isHeadless) {
    const wanted = textAt(spec, 'clusterIP');
    if (wanted === '') {
      spec.clusterIP = chooseAddress(taken, seed);
      spec.clusterIPs = [spec.clusterIP];
    } else if (isAddress(wanted)) appendAll(errors, checkAddress(wanted, taken));
  }
  if (wantsPorts) appendAll(errors, allocateNodePorts(objectsAt(spec, 'ports'), taken, seed));
  if (needsHealthPort(spec) && !numberAt(spec, 'healthCheckNodePort'))
    spec.healthCheckNodePort = chooseNodePort(taken, 'TCP', `${seed}/health`);
  if (errors.length > 0) throw invalid({ kind: 'Service', group: '' }, service.metadata.name ?? '', errors);
}

function isAddress(text: string): boolean {
  return /^\d+\.\d+\.\d+\.\d+$/.test(text);
}

/** This server gives addresses of one family; a headless service without a selector may still speak of both. */
function setFamilies(spec: JsonObject): void {
  if (isEmpty(spec.ipFamilies)) spec.ipFamilies = ['IPv4'];
  const isFree = textAt(spec, 'clusterIP') === 'None' && isEmpty(spec.selector);
  fill(spec, { ipFamilyPolicy: isFree ? 'RequireDualStack' : 'SingleStack' });
  const families = textsAt(spec, 'ipFamilies');
  if (isFree && spec.ipFamilyPolicy !== 'SingleStack' && families.length === 1)
    spec.ipFamilies = [families[0]!, families[0] === 'IPv4' ? 'IPv6' : 'IPv4'];
}
