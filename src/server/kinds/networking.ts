/** Ingresses and their classes, network policies, endpoints and endpoint slices. */
import {
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../api/index.ts';
import { appendAll } from './engine/append-all.ts';
import {
  checkPortName,
  labelSelector,
  named,
  oneOf,
  portNumber,
  portOrName,
  required,
  requiredWith,
} from './engine/checks.ts';
import { checksFrom, defaultsFrom, immutableFields } from './engine/field-table.ts';
import { ensureObject, isEmpty, objectAt, objectsAt, textAt, textsAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

const protocol = oneOf('SCTP', 'TCP', 'UDP');
const defaultClass = 'ingressclass.kubernetes.io/is-default-class';
const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];

export const ingressRules: KindRules = {
  prepareCreate: async (ingress, { list }) => {
    const spec = ensureObject(ingress as JsonObject, 'spec');
    const isChosen =
      spec.ingressClassName !== undefined || ingress.metadata.annotations?.['kubernetes.io/ingress.class'];
    if (isChosen) return;
    const classes = await list('networking.k8s.io', 'ingressclasses');
    const found = classes.find(({ metadata }) => metadata.annotations?.[defaultClass] === 'true');
    if (found?.metadata.name) spec.ingressClassName = found.metadata.name;
  },
  validate: (ingress) => {
    const spec = objectAt(ingress as JsonObject, 'spec') ?? {};
    const errors: FieldError[] = [];
    if (isEmpty(spec.rules) && !spec.defaultBackend)
      errors.push(invalidValue('spec', spec, 'either `defaultBackend` or `rules` must be specified'));
    const backend = objectAt(spec, 'defaultBackend');
    if (backend) validateBackend(backend, 'spec.defaultBackend', errors);
    for (const [index, rule] of objectsAt(spec, 'rules').entries()) validateRule(rule, `spec.rules[${index}]`, errors);
    return [...errors, ...checkIngress(ingress)];
  },
};
const checkIngress = checksFrom([['spec.ingressClassName', named(checkDnsSubdomain)]]);

function validateRule(rule: JsonObject, path: string, errors: FieldError[]): void {
  const host = textAt(rule, 'host');
  const plainHost = host.startsWith('*.') ? host.slice(2) : host;
  if (host !== '')
    for (const problem of checkDnsSubdomain(plainHost)) errors.push(invalidValue(`${path}.host`, host, problem));
  const http = objectAt(rule, 'http');
  if (!http) return;
  if (objectsAt(http, 'paths').length === 0) errors.push(requiredValue(`${path}.http.paths`));
  for (const [index, route] of objectsAt(http, 'paths').entries()) {
    const at = `${path}.http.paths[${index}]`;
    const [target, type] = [textAt(route, 'path'), textAt(route, 'pathType')];
    if (type === '') errors.push(requiredValue(`${at}.pathType`, 'pathType must be specified'));
    else if (!pathTypes.includes(type)) errors.push(unsupportedValue(`${at}.pathType`, type, pathTypes));
    else if (!target.startsWith('/') && (type !== 'ImplementationSpecific' || target !== ''))
      errors.push(invalidValue(`${at}.path`, target, 'must be an absolute path'));
    validateBackend(objectAt(route, 'backend') ?? {}, `${at}.backend`, errors);
  }
}

function validateBackend(backend: JsonObject, path: string, errors: FieldError[]): void {
  const [service, resource] = [objectAt(backend, 'service'), objectAt(backend, 'resource')];
  if (resource && service) {
    errors.push(invalidValue(path, '', 'cannot set both resource and service backends'));
    return;
  }
  if (resource) return;
  const name = textAt(service, 'name');
  if (name === '') errors.push(requiredValue(`${path}.service.name`));
  else for (const problem of checkDns1035Label(name)) errors.push(invalidValue(`${path}.service.name`, name, problem));
  const port = objectAt(service, 'port');
  const [portName, number] = [textAt(port, 'name'), port?.number];
  if (portName !== '' && number) errors.push(invalidValue(path, '', 'cannot set both port name & port number'));
  else if (portName !== '')
    for (const problem of checkPortName(portName))
      errors.push(invalidValue(`${path}.service.port.name`, portName, problem));
  else if (!number) errors.push(requiredValue(path, 'port name or number is required'));
  else appendAll(errors, portNumber(number, `${path}.service.port.number`, port!));
}

export const ingressClassRules: KindRules = {
  setDefaults: defaultsFrom([['spec.parameters.scope', 'Cluster']]),
  validate: checksFrom([['spec.controller', required]]),
  validateUpdate: immutableFields(['spec.controller']),
};

export const networkPolicyRules: KindRules = {
  setDefaults: (policy) => {
    setPolicyDefaults(policy);
    const spec = ensureObject(policy as JsonObject, 'spec');
    if (textsAt(spec, 'policyTypes').length === 0)
      spec.policyTypes = isEmpty(spec.egress) ? ['Ingress'] : ['Ingress', 'Egress'];
  },
  validate: checksFrom([
    ['spec.podSelector', labelSelector],
    ['spec.ingress[].ports[].protocol', protocol],
    ['spec.ingress[].ports[].port', portOrName],
    ['spec.egress[].ports[].protocol', protocol],
    ['spec.egress[].ports[].port', portOrName],
    ['spec.policyTypes[]', oneOf('Egress', 'Ingress')],
  ]),
};
const setPolicyDefaults = defaultsFrom([
  ['spec.podSelector', {}],
  ['spec.ingress[].ports[].protocol', 'TCP'],
  ['spec.egress[].ports[].protocol', 'TCP'],
]);

export const endpointsRules: KindRules = {
  setDefaults: defaultsFrom([['subsets[].ports[].protocol', 'TCP']]),
  validate: checksFrom([
    ['subsets[].addresses[].ip', required],
    ['subsets[].notReadyAddresses[].ip', required],
    ['subsets[].ports[].name', named(checkDnsLabel)],
    ['subsets[].ports[].port', portNumber],
    ['subsets[].ports[].protocol', protocol],
  ]),
};

export const endpointSliceRules: KindRules = {
  setDefaults: (slice) => {
    for (const port of objectsAt(slice as JsonObject, 'ports')) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  validate: (slice: KubeObject): FieldError[] => {
    const errors = checkSlice(slice);
    const seen = new Set<string>();
    for (const [index, port] of objectsAt(slice as JsonObject, 'ports').entries()) {
      const name = textAt(port, 'name');
      if (seen.has(name)) errors.push(duplicateValue(`ports[${index}].name`, name));
      seen.add(name);
    }
    return errors;
  },
  validateUpdate: immutableFields(['addressType']),
};
const checkSlice = checksFrom([
  ['addressType', required, oneOf('FQDN', 'IPv4', 'IPv6')],
  ['endpoints[].addresses', requiredWith('must contain at least 1 address')],
  ['ports[].name', named(checkDnsLabel)],
  ['ports[].protocol', oneOf('SCTP', 'TCP', 'UDP')],
]);
