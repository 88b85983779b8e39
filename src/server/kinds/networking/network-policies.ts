/** Network policies: which peers may speak to the pods they select, and on which ports. */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { checkPortName, labelSelector, oneOf, portNumber } from '../../strategy/validation/checks.ts';
import { type Check, checksFrom, defaultsFrom, listOf, struct } from '../../strategy/validation/field-table.ts';
import {
  ensureObject,
  isEmpty,
  isNumber,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';
import { checkRange, isIn, parseRange, warningsForRange } from '../../strategy/validation/ip-address.ts';

const protocol = oneOf('TCP', 'UDP', 'SCTP');
const types = ['Ingress', 'Egress'];

const port = struct([['protocol', protocol]], (value, path, owner) => {
  const { port: first, endPort } = value as JsonObject;
  const at = `${path}.endPort`;
  const hasEnd = isNumber(endPort);
  if (first === undefined || first === null)
    return hasEnd ? [invalidValue(at, endPort, 'may not be specified when `port` is not specified')] : [];
  if (!isNumber(first)) {
    const errors = checkPortName(String(first)).map((problem) => invalidValue(`${path}.port`, first, problem));
    if (hasEnd) errors.push(invalidValue(at, endPort, 'may not be specified when `port` is non-numeric'));
    return errors;
  }
  const errors = portNumber(first, `${path}.port`, owner);
  if (!hasEnd) return errors;
  if (endPort < first) errors.push(invalidValue(at, first, 'must be greater than or equal to `port`'));
  return [...errors, ...portNumber(endPort, at, owner)];
});

/** `known` are ranges that were accepted before. */
function ipBlock(known: ReadonlySet<string>): Check {
  const check = (text: string, path: string): FieldError[] =>
    known.has(text) ? [] : checkRange(text).map((problem) => invalidValue(path, text, problem));
  return (value, path) => {
    const block = value as JsonObject;
    const text = textAt(block, 'cidr');
    if (text === '') return [requiredValue(`${path}.cidr`)];
    const errors = check(text, `${path}.cidr`);
    const range = parseRange(text);
    if (!range) return errors;
    for (const [index, except] of textsAt(block, 'except').entries()) {
      const at = `${path}.except[${index}]`;
      appendAll(errors, check(except ?? '', at));
      const inner = parseRange(except ?? '');
      if (inner && !(isIn(inner.address, range) && range.bits < inner.bits))
        errors.push(invalidValue(at, except, 'must be a strict subset of `cidr`'));
    }
    return errors;
  };
}

function peerOf(known: ReadonlySet<string>): Check {
  const block = ipBlock(known);
  return struct(
    [
      ['podSelector', labelSelector],
      ['namespaceSelector', labelSelector],
      ['ipBlock', (value, path, owner) => (value === undefined ? [] : block(value, path, owner))],
    ],
    (value, path) => {
      const peer = value as JsonObject;
      const [pods, namespaces] = [objectAt(peer, 'podSelector'), objectAt(peer, 'namespaceSelector')];
      if (!objectAt(peer, 'ipBlock')) return pods || namespaces ? [] : [requiredValue(path, 'must specify a peer')];
      return pods || namespaces ? [forbiddenValue(path, 'may not specify both ipBlock and another peer')] : [];
    },
  );
}

function checkPolicy(known: ReadonlySet<string>): (policy: KubeObject) => FieldError[] {
  const peers = listOf(peerOf(known));
  const ports = listOf(port);
  const ruleOf = (field: string) =>
    listOf(
      struct([
        ['ports', ports],
        [field, peers],
      ]),
    );
  return checksFrom([
    ['spec.podSelector', labelSelector],
    ['spec.ingress', ruleOf('from')],
    ['spec.egress', ruleOf('to')],
    ['spec.policyTypes', policyTypes],
  ]);
}

const policyTypes: Check = (value, path) => {
  const found = textsAt({ value: value ?? null }, 'value');
  if (found.length > 2) return [invalidValue(path, value, 'may not specify more than two policyTypes')];
  return faultsOf(found, (type, index) =>
    types.includes(type) ? [] : [unsupportedValue(`${path}[${index}]`, type ?? '', types)],
  );
};
const checkNew = checkPolicy(new Set());

/** Every range in a policy, with its place. */
function rangesOf(policy: KubeObject): [path: string, range: string][] {
  const spec = objectAt(policy as JsonObject, 'spec');
  const ranges: [string, string][] = [];
  for (const [rules, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const)
    for (const [i, rule] of objectsAt(spec, rules).entries())
      for (const [j, peer] of objectsAt(rule, peers).entries()) {
        const block = objectAt(peer, 'ipBlock');
        if (!block) continue;
        const path = `spec.${rules}[${i}].${peers}[${j}].ipBlock`;
        ranges.push([`${path}.cidr`, textAt(block, 'cidr')]);
        for (const [k, except] of textsAt(block, 'except').entries())
          ranges.push([`${path}.except[${k}]`, except ?? '']);
      }
  return ranges;
}

export const networkPolicyStrategy: Strategy = {
  setDefaults: (policy) => {
    setPolicyDefaults(policy);
    const spec = ensureObject(policy as JsonObject, 'spec');
    if (textsAt(spec, 'policyTypes').length === 0)
      spec.policyTypes = isEmpty(spec.egress) ? ['Ingress'] : ['Ingress', 'Egress'];
  },
  validate: (policy, old) => {
    const errors = checkNew(policy);
    if (!old || errors.length === 0) return errors;
    return checkPolicy(new Set(rangesOf(old).map(([, range]) => range)))(policy);
  },
  warnings: (policy) => rangesOf(policy).flatMap(([path, range]) => warningsForRange(path, range)),
};
const setPolicyDefaults = defaultsFrom([
  ['spec.podSelector', {}],
  ['spec.ingress[].ports[].protocol', 'TCP', (owner) => owner.protocol !== ''],
  ['spec.egress[].ports[].protocol', 'TCP', (owner) => owner.protocol !== ''],
]);
