/** What is refused in a service, in the order in which the reference server finds it. */
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
  requiredValue,
} from '../../../api/index.ts';
import { appendAll } from '../engine/append-all.ts';
import { between, oneOf, portNumber, portOrName } from '../engine/checks.ts';
import { isEmpty, mapAt, numberAt, objectAt, objectsAt, textAt, textsAt } from '../engine/fields.ts';
import { validateLabels } from '../metadata-validation.ts';

const protocol = oneOf('SCTP', 'TCP', 'UDP');
const affinity = oneOf('ClientIP', 'None');
const type = oneOf('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort');
const policy = oneOf('Cluster', 'Local');
const family = oneOf('IPv4', 'IPv6');
const familyPolicy = oneOf('PreferDualStack', 'RequireDualStack', 'SingleStack');
const affinitySeconds = between(1, 86400);

export function validateService(service: KubeObject): FieldError[] {
  const spec = objectAt(service as JsonObject, 'spec') ?? {};
  const errors: FieldError[] = [];
  const kind = textAt(spec, 'type');
  const isHeadless = textAt(spec, 'clusterIP') === 'None';
  const ports = objectsAt(spec, 'ports');
  if (ports.length === 0 && !isHeadless && kind !== 'ExternalName') errors.push(requiredValue('spec.ports'));
  appendAll(errors, validateType(spec, kind, isHeadless));
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    validatePort(port, `spec.ports[${index}]`, ports.length > 1, names, errors);
  }
  errors.push(
    ...validateLabels(mapAt(spec, 'selector'), 'spec.selector'),
    ...affinity(spec.sessionAffinity ?? undefined, 'spec.sessionAffinity', spec),
    ...type(spec.type ?? undefined, 'spec.type', spec),
  );
  const clientIp = objectAt(objectAt(spec, 'sessionAffinityConfig'), 'clientIP');
  if (clientIp) {
    const path = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
    appendAll(errors, affinitySeconds(clientIp.timeoutSeconds ?? undefined, path, clientIp));
  }
  for (const [index, address] of textsAt(spec, 'externalIPs').entries()) {
    if (!isAddress(address))
      errors.push(
        invalidValue(
          `spec.externalIPs[${index}]`,
          address,
          'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
      );
  }
  errors.push(
    ...policy(spec.externalTrafficPolicy ?? undefined, 'spec.externalTrafficPolicy', spec),
    ...policy(spec.internalTrafficPolicy ?? undefined, 'spec.internalTrafficPolicy', spec),
    ...familyPolicy(spec.ipFamilyPolicy ?? undefined, 'spec.ipFamilyPolicy', spec),
    ...textsAt(spec, 'ipFamilies').flatMap((one, index) => family(one, `spec.ipFamilies[${index}]`, spec)),
    ...validateAddresses(spec, kind),
    ...validateNodePorts(ports, kind),
  );
  return errors;
}

function validateType(spec: JsonObject, kind: string, isHeadless: boolean): FieldError[] {
  const noneText = `may not be set to 'None' for ${kind} services`;
  if ((kind === 'NodePort' || kind === 'LoadBalancer') && isHeadless)
    return [invalidValue('spec.clusterIPs[0]', 'None', noneText)];
  if (kind !== 'ExternalName') return [];
  const errors: FieldError[] = [];
  if (textsAt(spec, 'clusterIPs').length > 0)
    errors.push(forbiddenValue('spec.clusterIPs', 'may not be set for ExternalName services'));
  const name = textAt(spec, 'externalName').replace(/\.$/, '');
  if (name === '') errors.push(requiredValue('spec.externalName'));
  else for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue('spec.externalName', name, problem));
  return errors;
}

function validatePort(
  port: JsonObject,
  path: string,
  needsName: boolean,
  names: Set<string>,
  errors: FieldError[],
): void {
  const name = textAt(port, 'name');
  if (name === '') {
    if (needsName) errors.push(requiredValue(`${path}.name`));
  } else {
    for (const problem of checkDnsLabel(name)) errors.push(invalidValue(`${path}.name`, name, problem));
    if (names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
    names.add(name);
  }
  appendAll(errors, portNumber(port.port ?? 0, `${path}.port`, port));
  if (textAt(port, 'protocol') === '') errors.push(requiredValue(`${path}.protocol`));
  else appendAll(errors, protocol(port.protocol ?? undefined, `${path}.protocol`, port));
  appendAll(errors, portOrName(port.targetPort ?? undefined, `${path}.targetPort`, port));
  const application = textAt(port, 'appProtocol');
  if (application === '') return;
  for (const problem of checkQualifiedName(application))
    errors.push(invalidValue(`${path}.appProtocol`, application, problem));
}

function validateAddresses(spec: JsonObject, kind: string): FieldError[] {
  if (kind === 'ExternalName') return [];
  const [single, all] = [textAt(spec, 'clusterIP'), textsAt(spec, 'clusterIPs')];
  const errors: FieldError[] = [];
  if (single !== '' && all[0] !== undefined && single !== all[0])
    errors.push(invalidValue('spec.clusterIPs', all, 'first value must match `clusterIP`'));
  for (const [index, address] of all.entries()) {
    if (address === 'None' && index === 0) continue;
    if (!isAddress(address))
      errors.push(
        invalidValue(
          `spec.clusterIPs[${index}]`,
          address,
          'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
      );
  }
  if (spec.ipFamilyPolicy === 'RequireDualStack' && !(single === 'None' && isEmpty(spec.selector))) {
    const why = 'this cluster is not configured for dual-stack services';
    errors.push(invalidValue('spec.ipFamilyPolicy', 'RequireDualStack', why));
  }
  return errors;
}

function validateNodePorts(ports: readonly JsonObject[], kind: string): FieldError[] {
  const errors: FieldError[] = [];
  const [nodePorts, numbers] = [new Set<string>(), new Set<string>()];
  for (const [index, port] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    const nodePort = numberAt(port, 'nodePort');
    if (nodePort && kind !== 'NodePort' && kind !== 'LoadBalancer')
      errors.push(forbiddenValue(`${path}.nodePort`, `may not be used when \`type\` is '${kind}'`));
    const key = `${port.protocol}/${nodePort}`;
    if (nodePort && nodePorts.has(key)) errors.push(duplicateValue(`${path}.nodePort`, nodePort));
    nodePorts.add(key);
    const number = `${port.protocol}/${port.port}`;
    if (numbers.has(number)) errors.push(duplicateValue(path, internalPort(port)));
    numbers.add(number);
  }
  return errors;
}

/** The two fields that must differ, in the type in which the reference server compares them. */
function internalPort({ protocol: transport, port }: JsonObject): JsonObject {
  return { Name: '', Protocol: transport, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
}

function isAddress(text: string): boolean {
  const parts = text.split('.');
  if (parts.length === 4) return parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return /^[0-9a-fA-F:.]+$/.test(text) && text.includes(':');
}
