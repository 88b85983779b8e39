/** What is refused in a service, and what is told about one that is accepted. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  keyPath,
  requiredValue,
} from '../../../api/index.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { oneOf, portNumber, portOrName, required, text } from '../../strategy/validation/checks.ts';
import { type Check, checksFrom, struct } from '../../strategy/validation/field-table.ts';
import { isEmpty, mapAt, numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import {
  checkIpAddress,
  checkOrdinaryAddress,
  checkRange,
  parseAddress,
} from '../../strategy/validation/ip-address.ts';
import { validateLabels } from '../../strategy/validation/metadata-validation.ts';
import { isHeadless, validateAddressFields } from './service-families.ts';

const DAY_SECONDS = 86400;
const protocol = oneOf('SCTP', 'TCP', 'UDP');
const policy = oneOf('Cluster', 'Local');
const lbOnly = "may only be used when `type` is 'LoadBalancer'";
const rangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const hintsAnnotation = 'service.kubernetes.io/topology-aware-hints';
const modeAnnotation = 'service.kubernetes.io/topology-mode';

export function needsHealthPort(spec: JsonObject): boolean {
  return textAt(spec, 'type') === 'LoadBalancer' && textAt(spec, 'externalTrafficPolicy') === 'Local';
}

/** Whether it can be reached from outside of the cluster. */
export function isExternallyAccessible(spec: JsonObject): boolean {
  const type = textAt(spec, 'type');
  return type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && !isEmpty(spec.externalIPs));
}

const port = struct([
  ['port', (value, path, owner) => portNumber(value ?? 0, path, owner)],
  ['protocol', required, protocol],
  ['targetPort', portOrName],
  ['appProtocol', (value, path, owner) => (value === undefined ? [] : text(checkQualifiedName)(value, path, owner))],
]);

const checkTable = checksFrom([
  ['spec.sessionAffinity', required, oneOf('ClientIP', 'None')],
  ['spec.type', required, oneOf('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort')],
  ['spec.internalTrafficPolicy', policy],
  ['spec.trafficDistribution', oneOf('PreferClose', 'PreferSameZone', 'PreferSameNode')],
]);

/** `before` is the spec it had: what was accepted once may stay as it is. */
export function validateService(service: KubeObject, before?: JsonObject): FieldError[] {
  const spec = objectAt(service as JsonObject, 'spec') ?? {};
  const type = textAt(spec, 'type');
  const ports = objectsAt(spec, 'ports');
  const errors = validateAnnotations(service);
  if (ports.length === 0 && !isHeadless(spec) && type !== 'ExternalName') errors.push(requiredValue('spec.ports'));
  appendAll(errors, validateType(spec, type));
  appendAll(errors, validatePorts(ports, type));
  appendAll(errors, validateLabels(mapAt(spec, 'selector'), 'spec.selector'));
  appendAll(errors, checkTable({ ...service, spec }));
  appendAll(errors, validateAffinity(spec));
  appendAll(errors, validateAddressFields(spec));
  appendAll(errors, validateExternal(spec, before));
  return [...errors, ...validateBalancer(service, spec, type, before), ...validateTraffic(spec)];
}

function validateAnnotations({ metadata }: KubeObject): FieldError[] {
  const found = metadata.annotations ?? {};
  const [mode, hints] = [found[modeAnnotation], found[hintsAnnotation]];
  const errors: FieldError[] = [];
  if (mode !== undefined && hints !== undefined && mode !== hints) {
    const why = `must match annotations[${hintsAnnotation}] when both are specified`;
    errors.push(invalidValue(keyPath('metadata.annotations', modeAnnotation), mode, why));
  }
  return errors;
}

function validateType(spec: JsonObject, type: string): FieldError[] {
  if (type === 'NodePort' || type === 'LoadBalancer') {
    if (!isHeadless(spec)) return [];
    return [invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`)];
  }
  if (type !== 'ExternalName') return [];
  const isSet: readonly (readonly [field: string, isSet: boolean])[] = [
    ['clusterIPs', !isEmpty(spec.clusterIPs)],
    ['ipFamilies', !isEmpty(spec.ipFamilies)],
    ['ipFamilyPolicy', typeof spec.ipFamilyPolicy === 'string'],
  ];
  const errors = isSet
    .filter(([, one]) => one)
    .map(([field]) => forbiddenValue(`spec.${field}`, 'may not be set for ExternalName services'));
  const name = textAt(spec, 'externalName').replace(/\.$/, '');
  if (name === '') errors.push(requiredValue('spec.externalName'));
  else for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue('spec.externalName', name, problem));
  return errors;
}

function validatePorts(ports: readonly JsonObject[], type: string): FieldError[] {
  const errors: FieldError[] = [];
  const [names, nodePorts, numbers] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const [index, one] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    const [name, nodePort] = [textAt(one, 'name'), numberAt(one, 'nodePort')];
    if (name === '' && ports.length > 1) errors.push(requiredValue(`${path}.name`));
    for (const problem of name === '' ? [] : checkDnsLabel(name))
      errors.push(invalidValue(`${path}.name`, name, problem));
    if (name !== '' && names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
    names.add(name);
    appendAll(errors, port(one, path, {}));
    if (nodePort && type === 'ClusterIP')
      errors.push(forbiddenValue(`${path}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
    const key = `${one.protocol}/${nodePort}`;
    if (nodePort && nodePorts.has(key)) errors.push(duplicateValue(`${path}.nodePort`, nodePort));
    nodePorts.add(key);
    const number = `${one.protocol}/${one.port}`;
    if (numbers.has(number)) errors.push(duplicateValue(path, internalPort(one)));
    numbers.add(number);
  }
  return errors;
}

/** The two fields that must differ, in the type in which kube-apiserver compares them. */
function internalPort({ protocol: transport, port: number }: JsonObject): JsonObject {
  return { Name: '', Protocol: transport, AppProtocol: null, Port: number, TargetPort: 0, NodePort: 0 };
}

function validateAffinity(spec: JsonObject): FieldError[] {
  if (textAt(spec, 'sessionAffinity') !== 'ClientIP') return [];
  const seconds = numberAt(objectAt(objectAt(spec, 'sessionAffinityConfig'), 'clientIP'), 'timeoutSeconds') ?? 0;
  if (seconds > 0 && seconds <= DAY_SECONDS) return [];
  const path = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
  return [invalidValue(path, seconds, `must be greater than 0 and less than ${DAY_SECONDS}`)];
}

function validateExternal(spec: JsonObject, before: JsonObject | undefined): FieldError[] {
  const known = new Set(textsAt(before, 'externalIPs'));
  return faultsOf(textsAt(spec, 'externalIPs'), (one, index) => {
    const address = one ?? '';
    const wrong = known.has(address) ? [] : checkIpAddress(address);
    const problems = wrong.length > 0 ? wrong : checkOrdinaryAddress(address);
    return problems.map((problem) => invalidValue(`spec.externalIPs[${index}]`, address, problem));
  });
}

function validateBalancer(
  service: KubeObject,
  spec: JsonObject,
  type: string,
  before: JsonObject | undefined,
): FieldError[] {
  const isBalancer = type === 'LoadBalancer';
  const errors: FieldError[] = [];
  const known = new Set(textsAt(before, 'loadBalancerSourceRanges'));
  const check = (range: string, path: string) => {
    if (!known.has(range))
      for (const problem of checkRange(range.trim())) errors.push(invalidValue(path, range.trim(), problem));
  };
  const ranges = textsAt(spec, 'loadBalancerSourceRanges');
  const annotation = service.metadata.annotations?.[rangesAnnotation];
  if (ranges.length > 0) {
    const path = 'spec.LoadBalancerSourceRanges';
    if (!isBalancer) errors.push(forbiddenValue(path, lbOnly));
    for (const [index, range] of ranges.entries()) check(range ?? '', `${path}[${index}]`);
  } else if (annotation !== undefined) {
    const path = keyPath('metadata.annotations', rangesAnnotation);
    if (!isBalancer) errors.push(forbiddenValue(path, lbOnly));
    if (annotation.trim() !== '') for (const range of annotation.trim().split(',')) check(range.trim(), path);
  }
  if (typeof spec.allocateLoadBalancerNodePorts === 'boolean' && !isBalancer)
    errors.push(forbiddenValue('spec.allocateLoadBalancerNodePorts', lbOnly));
  return [...errors, ...balancerClass(spec.loadBalancerClass ?? undefined, 'spec.loadBalancerClass', spec)];
}

const balancerClass: Check = (value, path, spec) => {
  if (typeof value !== 'string') return [];
  if (textAt(spec, 'type') !== 'LoadBalancer') return [forbiddenValue(path, lbOnly)];
  return text(checkQualifiedName)(value, path, spec);
};

function validateTraffic(spec: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const found = textAt(spec, 'externalTrafficPolicy');
  const path = 'spec.externalTrafficPolicy';
  if (isExternallyAccessible(spec)) appendAll(errors, policy(found, path, spec));
  else if (found !== '') errors.push(invalidValue(path, found, 'may only be set for externally-accessible services'));
  const health = numberAt(spec, 'healthCheckNodePort') ?? 0;
  if (needsHealthPort(spec)) appendAll(errors, portNumber(health, 'spec.healthCheckNodePort', spec));
  else if (health !== 0) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalidValue('spec.healthCheckNodePort', health, why));
  }
  return errors;
}

/** What may not change, or only in one way. */
export function validateServiceUpdate(spec: JsonObject, before: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const [type, oldType] = [textAt(spec, 'type'), textAt(before, 'type')];
  if (type !== 'ExternalName' && oldType !== 'ExternalName') {
    if (!(isHeadless(spec) && isHeadless(before))) appendAll(errors, keptInPlace(spec, before, 'clusterIPs'));
    if (!isHeadless(spec) && !isHeadless(before)) appendAll(errors, keptInPlace(spec, before, 'ipFamilies'));
  }
  const isBalancer = type === 'LoadBalancer';
  const [name, had] = [spec.loadBalancerClass ?? undefined, before.loadBalancerClass ?? undefined];
  if (isBalancer && oldType === 'LoadBalancer' && name !== had)
    errors.push(invalidValue('spec.loadBalancerClass', name ?? null, 'may not change once set'));
  appendAll(errors, balancerClass(name, 'spec.loadBalancerClass', spec)); // looked at twice, and told twice
  if (needsHealthPort(spec) && needsHealthPort(before) && spec.healthCheckNodePort !== before.healthCheckNodePort)
    errors.push(forbiddenValue('spec.healthCheckNodePort', 'field is immutable'));
  return errors;
}

/** One may be added behind the first, or given back; families are told of as kube-apiserver does, under the first. */
function keptInPlace(spec: JsonObject, before: JsonObject, field: 'clusterIPs' | 'ipFamilies'): FieldError[] {
  const [now, was, all] = [textsAt(spec, field), textsAt(before, field), textsAt(spec, 'clusterIPs')];
  const [path, isFamily] = [`spec.${field}`, field === 'ipFamilies'];
  const one = isFamily ? 'ipFamily' : 'clusterIP';
  const changed = (index: number, shown: readonly string[]) =>
    invalidValue(`${path}[${isFamily ? 0 : index}]`, shown, 'may not change once set');
  if (now.length === was.length)
    return faultsOf(was, (value, index) => (value === now[index] ? [] : [changed(index, now)]));
  const errors: FieldError[] = [];
  const isLess = now.length < was.length;
  if (isLess && all.length === 0) errors.push(invalidValue(`${path}[0]`, now, `primary ${one} can not be unset`));
  if (now.length > 0 && was.length > 0 && now[0] !== was[0]) errors.push(changed(0, all));
  const policy = spec.ipFamilyPolicy ?? null;
  if (isLess && now.length === 1 && policy !== 'SingleStack') {
    const why = `must be set to 'SingleStack' when releasing the secondary ${one}`;
    errors.push(invalidValue('spec.ipFamilyPolicy', policy, why));
  }
  return errors;
}

export function validateServiceStatus(service: KubeObject, old: KubeObject): FieldError[] {
  const ingressOf = (object: KubeObject) =>
    objectsAt(objectAt(objectAt(object as JsonObject, 'status'), 'loadBalancer'), 'ingress');
  const [path, found] = ['status.loadBalancer.ingress', ingressOf(service)];
  const type = textAt(objectAt(service as JsonObject, 'spec'), 'type');
  if (type !== 'LoadBalancer' && found.length > 0)
    return [forbiddenValue(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  const known = new Set(ingressOf(old).map((one) => textAt(one, 'ip')));
  return faultsOf(found, (one, index) => validateIngress(one ?? {}, `${path}[${index}]`, known));
}

function validateIngress(one: JsonObject, path: string, known: ReadonlySet<string>): FieldError[] {
  const [ip, host, mode] = [textAt(one, 'ip'), textAt(one, 'hostname'), one.ipMode ?? undefined];
  const wrong = ip === '' || known.has(ip) ? [] : checkIpAddress(ip);
  const errors = wrong.map((problem) => invalidValue(`${path}.ip`, ip, problem));
  const at = `${path}.ipMode`;
  if (mode === undefined && ip !== '') errors.push(requiredValue(at, 'must be specified when `ip` is set'));
  else if (mode !== undefined && ip === '')
    errors.push(forbiddenValue(at, 'may not be specified when `ip` is not set'));
  else appendAll(errors, oneOf('Proxy', 'VIP')(mode, at, one));
  if (host === '') return errors;
  for (const problem of checkDnsSubdomain(host)) errors.push(invalidValue(`${path}.hostname`, host, problem));
  if (parseAddress(host)) errors.push(invalidValue(`${path}.hostname`, host, 'must be a DNS name, not an IP address'));
  return errors;
}
