/** Ingresses and their classes. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkPathSegment,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import {
  atMostBytes,
  checkPortName,
  domainPath,
  named,
  oneOf,
  portNumber,
  required,
  text,
} from '../../strategy/validation/checks.ts';
import {
  type Check,
  checksFrom,
  defaultsFrom,
  immutableFields,
  listOf,
  struct,
  textsOf,
} from '../../strategy/validation/field-table.ts';
import { isEmpty, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { checkIpAddress, parseAddress } from '../../strategy/validation/ip-address.ts';

const classAnnotation = 'kubernetes.io/ingress.class';
const badPathParts = ['//', '/./', '/../', '%2f', '%2F'];
const badPathEnds = ['/..', '/.'];
const wildcardText =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower " +
  "case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used " +
  "for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const notAnAddress = 'must be a DNS name, not an IP address';

/** `*` stands for the first label only. */
function checkHost(host: string): string[] {
  if (!host.includes('*')) return checkDnsSubdomain(host);
  const problems = Buffer.byteLength(host) > 253 ? ['must be no more than 253 characters'] : [];
  const isGood = host.startsWith('*.') && host.length < 1000 && isSubdomain(host.slice(2));
  return isGood ? problems : [...problems, wildcardText];
}

function isSubdomain(host: string): boolean {
  return checkDnsSubdomain(host).every((problem) => problem.startsWith('must be no more'));
}

/** A thing of another kind in the same namespace. */
const typedReference: Check = struct([
  ['apiGroup', (value, path, owner) => (value === undefined ? [] : text(checkDnsSubdomain)(value, path, owner))],
  ['kind', required, named(checkPathSegment)],
  ['name', required, named(checkPathSegment)],
]);

const backend: Check = (value, path, owner) => {
  const found = (value ?? {}) as JsonObject;
  const [service, resource] = [objectAt(found, 'service'), objectAt(found, 'resource')];
  if (resource && service) return [invalidValue(path, '', 'cannot set both resource and service backends')];
  if (resource) return typedReference(resource, `${path}.resource`, found);
  if (!service) return [invalidValue(path, '', 'resource or service backend is required')];
  const errors = serviceName(service.name ?? undefined, `${path}.service.name`, owner);
  const port = objectAt(service, 'port');
  const [name, number] = [textAt(port, 'name'), port?.number];
  if (name !== '' && number) errors.push(invalidValue(path, '', 'cannot set both port name & port number'));
  else if (name !== '')
    for (const problem of checkPortName(name)) errors.push(invalidValue(`${path}.service.port.name`, name, problem));
  else if (!number) errors.push(requiredValue(path, 'port name or number is required'));
  else appendAll(errors, portNumber(number, `${path}.service.port.number`, port!));
  return errors;
};
const serviceName: Check = (value, path, owner) => [
  ...required(value, path, owner),
  ...named(checkDnsLabel)(value, path, owner),
];

const route: Check = (value, path, owner) => {
  const found = value as JsonObject;
  const [target, at] = [textAt(found, 'path'), `${path}.path`];
  if (typeof found.pathType !== 'string') return [requiredValue(`${path}.pathType`, 'pathType must be specified')];
  const errors = pathTypes(found.pathType, `${path}.pathType`, owner);
  const isFree = found.pathType === 'ImplementationSpecific';
  if (errors.length === 0 && !target.startsWith('/') && !(isFree && target === ''))
    errors.push(invalidValue(at, target, 'must be an absolute path'));
  if (found.pathType === 'Exact' || found.pathType === 'Prefix') {
    for (const part of badPathParts)
      if (target.includes(part)) errors.push(invalidValue(at, target, `must not contain '${part}'`));
    for (const end of badPathEnds)
      if (target.endsWith(end)) errors.push(invalidValue(at, target, `cannot end with '${end}'`));
  }
  return [...errors, ...backend(found.backend ?? undefined, `${path}.backend`, owner)];
};
const pathTypes = oneOf('Exact', 'ImplementationSpecific', 'Prefix');

const rule = struct([
  [
    'host',
    (value, path) =>
      typeof value === 'string' && value !== '' && parseAddress(value) ? [invalidValue(path, value, notAnAddress)] : [],
  ],
  ['host', named(checkHost)],
  ['http', struct([['paths', required, listOf(route)]])],
]);

const checkIngress = checksFrom([
  ['spec.defaultBackend', (value, path, owner) => (value === undefined ? [] : backend(value, path, owner))],
  ['spec.rules', listOf(rule)],
  [
    'spec.tls',
    listOf(
      struct([
        ['hosts', textsOf(text(checkHost))],
        ['secretName', named(checkDnsSubdomain)],
      ]),
    ),
  ],
  [
    'spec.ingressClassName',
    (value, path, owner) => (value === undefined ? [] : text(checkDnsSubdomain)(value, path, owner)),
  ],
]);

/** Where a balancer can be reached; `known` are addresses that were accepted before. */
function loadBalancerIngress(known: ReadonlySet<string>): Check {
  return listOf(
    struct([
      [
        'ip',
        (value, path) =>
          typeof value === 'string' && value !== '' && !known.has(value)
            ? checkIpAddress(value).map((problem) => invalidValue(path, value, problem))
            : [],
      ],
      ['hostname', named(checkDnsSubdomain)],
      [
        'hostname',
        (value, path) =>
          typeof value === 'string' && parseAddress(value) ? [invalidValue(path, value, notAnAddress)] : [],
      ],
    ]),
  );
}

export const ingressStrategy: Strategy = {
  validate: (ingress, old, context) => {
    if (context?.subresource === 'status') return validateStatus(ingress as JsonObject, old as JsonObject);
    const spec = objectAt(ingress as JsonObject, 'spec') ?? {};
    const errors: FieldError[] = [];
    if (isEmpty(spec.rules) && !spec.defaultBackend)
      errors.push(invalidValue('spec', spec.rules ?? null, 'either `defaultBackend` or `rules` must be specified'));
    appendAll(errors, checkIngress(ingress));
    const [name, annotation] = [spec.ingressClassName, ingress.metadata.annotations?.[classAnnotation]];
    if (!old && annotation !== undefined && typeof name === 'string' && annotation !== name) {
      const why = 'must match `ingressClassName` when both are specified';
      errors.push(invalidValue(`annotations.${classAnnotation}`, annotation, why));
    }
    return errors;
  },
  warnings: ({ metadata }, old) =>
    !old && metadata.annotations?.[classAnnotation] !== undefined
      ? [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`]
      : [],
};

function validateStatus(ingress: JsonObject, old: JsonObject): FieldError[] {
  const balancer = (owner: JsonObject) => objectAt(objectAt(owner, 'status'), 'loadBalancer');
  const known = new Set(objectsAt(balancer(old), 'ingress').map((one) => textAt(one, 'ip')));
  const path = 'status.loadBalancer.ingress';
  return loadBalancerIngress(known)(balancer(ingress)?.ingress ?? undefined, path, ingress);
}

const parameters = struct([['scope', oneOf('Cluster', 'Namespace')]], typedReference, (value, path, owner) => {
  const { scope, namespace } = value as JsonObject;
  const at = `${path}.namespace`;
  const why = `\`parameters.scope\` is set to '${scope}'`;
  if (scope === 'Cluster') return typeof namespace === 'string' ? [forbiddenValue(at, why)] : [];
  if (scope !== 'Namespace') return [];
  return typeof namespace === 'string' ? text(checkDnsLabel)(namespace, at, owner) : [requiredValue(at, why)];
});

export const ingressClassStrategy: Strategy = {
  setDefaults: defaultsFrom([['spec.parameters.scope', 'Cluster', (owner) => owner.scope !== '']]),
  validate: (object) => checkClass({ ...object, spec: objectAt(object as JsonObject, 'spec') ?? {} }),
  validateUpdate: (object, old) =>
    immutableFields(['spec.controller'])(object, old).map((error) => ({
      ...error,
      message: error.message.replace('Invalid value: null', 'Invalid value: ""'),
    })),
};
const checkClass = checksFrom([
  [
    'spec.controller',
    required,
    (value, path, owner) => [...atMostBytes(250)(value, path, owner), ...domainPath(value, path, owner)],
  ],
  ['spec.parameters', parameters],
]);
