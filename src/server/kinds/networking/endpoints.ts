/** Where services really are: endpoints as they once were, and slices of them. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { named, oneOf, portNumber, required, text } from '../../strategy/validation/checks.ts';
import {
  type Check,
  checksFrom,
  defaultsFrom,
  immutableFields,
  listOf,
  struct,
  textsOf,
} from '../../strategy/validation/field-table.ts';
import { isObject, objectsAt, sameStruct, textAt, textsAt } from '../../strategy/validation/fields.ts';
import {
  checkIpAddress,
  checkOrdinaryAddress,
  parseAddress,
  warningsForAddress,
} from '../../strategy/validation/ip-address.ts';

const protocol = oneOf('SCTP', 'TCP', 'UDP');
/** A text that may be left out, but if it is there is looked at even if it is empty. */
const optional =
  (check: Check): Check =>
  (value, path, owner) =>
    value === undefined ? [] : check(value, path, owner);

const address = (known: ReadonlySet<string>) =>
  struct([
    [
      'ip',
      (value, path) => {
        const ip = typeof value === 'string' ? value : '';
        const problems = [...(known.has(ip) ? [] : checkIpAddress(ip)), ...checkOrdinaryAddress(ip)];
        return problems.map((problem) => invalidValue(path, ip, problem));
      },
    ],
    ['hostname', named(checkDnsLabel)],
    ['nodeName', optional(text(checkDnsSubdomain))],
  ]);

const subsetPort = struct([
  ['name', named(checkDnsLabel)],
  ['port', (value, path, owner) => portNumber(value ?? 0, path, owner)],
  ['protocol', required, protocol],
  ['appProtocol', optional(text(checkQualifiedName))],
]);

function checkSubsets(known: ReadonlySet<string>): (endpoints: KubeObject) => FieldError[] {
  const addresses = listOf(address(known));
  const subset = struct(
    [
      ['addresses', addresses],
      ['notReadyAddresses', addresses],
      ['ports', listOf(subsetPort)],
    ],
    (value, path) => {
      const found = value as JsonObject;
      const errors: FieldError[] = [];
      if (objectsAt(found, 'addresses').length + objectsAt(found, 'notReadyAddresses').length === 0)
        errors.push(requiredValue(path, 'must specify `addresses` or `notReadyAddresses`'));
      const ports = objectsAt(found, 'ports');
      if (ports.length > 1)
        for (const [index, port] of ports.entries())
          if (textAt(port, 'name') === '') errors.push(requiredValue(`${path}.ports[${index}].name`));
      return errors;
    },
  );
  return checksFrom([['subsets', listOf(subset)]]);
}
const checkNewSubsets = checkSubsets(new Set());

export const endpointsStrategy: Strategy = {
  setDefaults: defaultsFrom([['subsets[].ports[].protocol', 'TCP']]),
  validate: (endpoints, old) => {
    if (old && sameStruct(endpoints.subsets, old.subsets)) return [];
    const errors = checkNewSubsets(endpoints);
    return old && errors.length > 0 ? checkSubsets(new Set(ipsOf(old)))(endpoints) : errors;
  },
  warnings: (endpoints) => (isManaged(endpoints) ? [] : warningsForSubsets(endpoints)),
};

/** Whoever makes endpoints of Services writes addresses as they should be. */
function isManaged({ metadata }: KubeObject): boolean {
  return metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller';
}

function warningsForSubsets(endpoints: KubeObject): string[] {
  return faultsOf(objectsAt(endpoints as JsonObject, 'subsets'), (subset, index) =>
    ['addresses', 'notReadyAddresses'].flatMap((field) =>
      faultsOf(objectsAt(subset, field), (one, place) =>
        warningsForAddress(`subsets[${index}].${field}[${place}].ip`, textAt(one, 'ip')),
      ),
    ),
  );
}

function ipsOf(endpoints: KubeObject): string[] {
  return objectsAt(endpoints as JsonObject, 'subsets').flatMap((subset) =>
    [...objectsAt(subset, 'addresses'), ...objectsAt(subset, 'notReadyAddresses')].map((one) => textAt(one, 'ip')),
  );
}

const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;
const MAX_PORTS = 20000;
const MAX_HINTS = 8;
const MIN_NAME_LABELS = 2;

/** A name with a domain, maybe with a dot behind it. */
function checkFullName(name: string): string[] {
  if (name === '') return [];
  const plain = name.endsWith('.') ? name.slice(0, -1) : name;
  const problems = checkDnsSubdomain(plain);
  if (problems.length > 0) return problems;
  const labels = plain.split('.');
  if (labels.length < MIN_NAME_LABELS) return ['should be a domain with at least two segments separated by dots'];
  return labels.flatMap((part) => checkDnsLabel(part));
}

function addressOf(type: string, known: ReadonlySet<string>): Check {
  if (type === 'FQDN')
    return (value, path) => (value === '' ? [requiredValue(path)] : text(checkFullName)(value, path, {}));
  if (type !== 'IPv4' && type !== 'IPv6') return () => [];
  const [size, why] = type === 'IPv4' ? [4, 'must be an IPv4 address'] : [16, 'must be an IPv6 address'];
  return (value, path) => {
    const ip = String(value);
    const problems = known.has(ip) ? [] : checkIpAddress(ip);
    if (problems.length === 0) {
      if (parseAddress(ip)?.bytes.length !== size) problems.push(why as string);
      appendAll(problems, checkOrdinaryAddress(ip));
    }
    return problems.map((problem) => invalidValue(path, ip, problem));
  };
}

function hints(check: Check): Check {
  const names = listOf(struct([['name', check]]), { atMost: MAX_HINTS });
  return (value, path, owner) => {
    const errors = names(value, path, owner);
    const seen = new Set<string>();
    for (const [index, hint] of objectsAt({ value: value ?? null }, 'value').entries()) {
      const name = textAt(hint, 'name');
      if (seen.has(name)) errors.push(duplicateValue(`${path}[${index}].name`, name));
      seen.add(name);
    }
    return errors;
  };
}
const zoneHints = hints(text(checkLabelValue));
const nodeHints = hints(text(checkDnsSubdomain));

function endpointOf(type: string, known: ReadonlySet<string>): Check {
  const check = addressOf(type, known);
  return struct([
    [
      'addresses',
      (value, path) =>
        Array.isArray(value) && value.length > 0 ? [] : [requiredValue(path, 'must contain at least 1 address')],
      textsOf(check, { atMost: MAX_ADDRESSES }),
    ],
    ['hostname', optional(text(checkDnsLabel))],
    ['nodeName', optional(text(checkDnsSubdomain))],
    ['hints.forZones', zoneHints],
    ['hints.forNodes', nodeHints],
  ]);
}

function endpointsOf(type: string, known: ReadonlySet<string>): Check {
  return listOf(endpointOf(type, known), { atMost: MAX_ENDPOINTS });
}
const newEndpoints: ReadonlyMap<string, Check> = new Map(
  ['IPv4', 'IPv6', 'FQDN', 'other'].map((type) => [type, endpointsOf(type, new Set())]),
);

const slicePorts: Check = (value, path, owner) => {
  const errors = ports(value, path, owner);
  const seen = new Set<string>();
  for (const [index, port] of objectsAt({ value: value ?? null }, 'value').entries()) {
    const name = textAt(port, 'name');
    if (seen.has(name)) errors.push(duplicateValue(`${path}[${index}].name`, name));
    seen.add(name);
  }
  return errors;
};
const ports = listOf(
  struct([
    ['name', named(checkDnsLabel)],
    ['protocol', protocol],
    ['appProtocol', optional(text(checkQualifiedName))],
  ]),
  { atMost: MAX_PORTS },
);

export const endpointSliceStrategy: Strategy = {
  setDefaults: (slice) => {
    for (const port of objectsAt(slice as JsonObject, 'ports')) {
      if (!isObject(port)) continue;
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  prepareCreate: dropTopology,
  prepareUpdate: dropTopology,
  validate: (slice, old) => {
    const type = textAt(slice as JsonObject, 'addressType');
    const run = (check: Check) => check(slice.endpoints ?? undefined, 'endpoints', slice as JsonObject);
    let errors = run(newEndpoints.get(type) ?? newEndpoints.get('other')!);
    if (old && errors.length > 0) {
      const known = new Set(objectsAt(old as JsonObject, 'endpoints').flatMap((one) => textsAt(one, 'addresses')));
      errors = run(endpointsOf(type, known)); // what was accepted once may stay
    }
    return [...checkSlice(slice), ...errors];
  },
  validateUpdate: immutableFields(['addressType']),
  // Its labels say which service it is of.
  isRenewed: ({ metadata }, old) => !sameStruct(metadata.labels ?? {}, old.metadata.labels ?? {}),
  warnings: (slice, old) => {
    const warnings = !old && slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
    for (const [index, endpoint] of objectsAt(slice as JsonObject, 'endpoints').entries())
      for (const [place, one] of textsAt(endpoint, 'addresses').entries())
        appendAll(warnings, warningsForAddress(`endpoints[${index}].addresses[${place}]`, one ?? ''));
    return warnings;
  },
};
const checkSlice = checksFrom([
  ['addressType', required, oneOf('FQDN', 'IPv4', 'IPv6')],
  ['ports', slicePorts],
]);

/** A field of versions that are gone. */
function dropTopology(slice: KubeObject): void {
  for (const endpoint of objectsAt(slice as JsonObject, 'endpoints'))
    if (isObject(endpoint)) delete endpoint.deprecatedTopology;
}
