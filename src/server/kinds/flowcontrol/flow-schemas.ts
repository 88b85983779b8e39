/**
 * Flow schemas: which requests belong to which priority level. A rule names subjects of three kinds, each with a field
 * of its own, and the requests of theirs that it is about.
 */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  duplicateValue,
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
import { named, requiredWith } from '../../strategy/validation/checks.ts';
import { checksFrom } from '../../strategy/validation/field-table.ts';
import { ensureObject, numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { checkMandatorySchema } from './mandatory-specs.ts';

const USUAL_PRECEDENCE = 1000;
const LAST_PRECEDENCE = 10000;
const EXEMPT = 'exempt';
const METHODS = ['ByNamespace', 'ByUser'];
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

/** The field of each kind of subject. */
const fieldOfKind: Readonly<Record<string, string>> = {
  Group: 'group',
  ServiceAccount: 'serviceAccount',
  User: 'user',
};

export const flowSchemaStrategy: Strategy = {
  setDefaults: (schema) => {
    const spec = ensureObject(schema as JsonObject, 'spec');
    if (!spec.matchingPrecedence) spec.matchingPrecedence = USUAL_PRECEDENCE;
  },
  validate: (schema) => {
    const spec = objectAt(schema as JsonObject, 'spec') ?? {};
    return [
      ...checkPrecedence(spec, schema.metadata.name ?? ''),
      ...checkMethod(objectAt(spec, 'distinguisherMethod')),
      ...checkRows(schema),
      ...faultsOf(objectsAt(spec, 'rules'), (rule, index) => checkPolicyRule(rule ?? {}, `spec.rules[${index}]`)),
      ...checkMandatorySchema(schema.metadata.name ?? '', spec),
      ...checkFlowConditions(schema),
    ];
  },
};

const checkRows = checksFrom([
  ['spec.priorityLevelConfiguration.name', requiredWith('must reference a priority level'), named(checkDnsSubdomain)],
]);

/** Of conditions here only the types are looked at. */
export function checkFlowConditions(object: KubeObject): FieldError[] {
  const seen = new Set<string>();
  return faultsOf(objectsAt(objectAt(object as JsonObject, 'status'), 'conditions'), (condition, index) => {
    const type = textAt(condition, 'type');
    const at = `status.conditions[${index}].type`;
    const errors = seen.has(type) ? [duplicateValue(at, type)] : [];
    seen.add(type);
    return type === '' ? [...errors, requiredValue(at)] : errors;
  });
}

function checkPrecedence(spec: JsonObject, name: string): FieldError[] {
  const path = 'spec.matchingPrecedence';
  const precedence = numberAt(spec, 'matchingPrecedence') ?? 0;
  if (precedence <= 0) return [invalidValue(path, precedence, 'must be a positive value')];
  if (precedence > LAST_PRECEDENCE)
    return [invalidValue(path, precedence, `must not be greater than ${LAST_PRECEDENCE}`)];
  if (precedence !== 1 || name === EXEMPT) return [];
  return [invalidValue(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")];
}

/** The message shows the whole method, as its type is printed. */
function checkMethod(method: JsonObject | undefined): FieldError[] {
  if (!method || METHODS.includes(textAt(method, 'type'))) return [];
  return [unsupportedValue('spec.distinguisherMethod.type', { Type: textAt(method, 'type') }, METHODS)];
}

function checkPolicyRule(rule: JsonObject, path: string): FieldError[] {
  const subjects = objectsAt(rule, 'subjects');
  const [resources, others] = [objectsAt(rule, 'resourceRules'), objectsAt(rule, 'nonResourceRules')];
  const errors = faultsOf(subjects, (subject, index) => checkSubject(subject ?? {}, `${path}.subjects[${index}]`));
  if (subjects.length === 0) errors.push(requiredValue(`${path}.subjects`, 'subjects must contain at least one value'));
  if (resources.length === 0 && others.length === 0)
    errors.push(requiredValue(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  for (const [index, one] of resources.entries())
    appendAll(errors, checkResourceRule(one ?? {}, `${path}.resourceRules[${index}]`));
  for (const [index, one] of others.entries())
    appendAll(errors, checkNonResourceRule(one ?? {}, `${path}.nonResourceRules[${index}]`));
  return errors;
}

function checkSubject(subject: JsonObject, path: string): FieldError[] {
  const kind = textAt(subject, 'kind');
  if (!Object.hasOwn(fieldOfKind, kind)) return [unsupportedValue(`${path}.kind`, kind, Object.keys(fieldOfKind))];
  const errors: FieldError[] = [];
  for (const [other, field] of Object.entries(fieldOfKind)) {
    if (other === kind || !objectAt(subject, field)) continue;
    errors.push(forbiddenValue(`${path}.${field}`, `${field} is forbidden when subject kind is not '${other}'`));
  }
  const field = fieldOfKind[kind]!;
  const who = objectAt(subject, field);
  const at = `${path}.${field}`;
  if (!who) return [...errors, requiredValue(at, `${field} is required when subject kind is '${kind}'`)];
  const name = textAt(who, 'name');
  if (name === '') errors.push(requiredValue(`${at}.name`));
  if (kind !== 'ServiceAccount') return errors;
  if (name !== '' && name !== '*')
    for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue(`${at}.name`, name, problem));
  const namespace = textAt(who, 'namespace');
  if (namespace === '') errors.push(requiredValue(`${at}.namespace`, 'must specify namespace for service account'));
  else for (const problem of checkDnsLabel(namespace)) errors.push(invalidValue(`${at}.namespace`, namespace, problem));
  return errors;
}

function checkResourceRule(rule: JsonObject, path: string): FieldError[] {
  const errors = [
    ...checkVerbs(rule, path),
    ...checkAlone(rule, 'apiGroups', path, 'resource rules must supply at least one api group', 'api groups'),
    ...checkAlone(rule, 'resources', path, 'resource rules must supply at least one resource', 'resources'),
  ];
  const namespaces = textsOf(rule, 'namespaces');
  const at = `${path}.namespaces`;
  if (namespaces.length === 0 && rule.clusterScope !== true) {
    const why = 'resource rules that are not cluster scoped must supply at least one namespace';
    return [...errors, requiredValue(at, why)];
  }
  if (namespaces.includes('*')) {
    if (namespaces.length > 1)
      errors.push(invalidValue(at, namespaces, "if '*' is present, must not specify other namespaces"));
    return errors;
  }
  for (const [index, namespace] of namespaces.entries())
    for (const problem of checkDnsLabel(namespace)) {
      const why = `each member of this list must be '*' or a DNS-1123 label; ${problem}`;
      errors.push(invalidValue(`${at}[${index}]`, namespace, why));
    }
  return errors;
}

function checkNonResourceRule(rule: JsonObject, path: string): FieldError[] {
  const errors = checkVerbs(rule, path);
  const needs = 'nonResourceURLs must contain at least one value';
  appendAll(errors, checkAlone(rule, 'nonResourceURLs', path, needs, 'non-resource URLs'));
  const urls = textsOf(rule, 'nonResourceURLs');
  if (urls.includes('*')) return errors;
  for (const [index, url] of urls.entries()) {
    const fault = urlFault(url);
    if (fault) errors.push(invalidValue(`${path}.nonResourceURLs[${index}]`, url, fault));
  }
  return errors;
}

function checkVerbs(rule: JsonObject, path: string): FieldError[] {
  const verbs = textsOf(rule, 'verbs');
  const errors = checkAlone(rule, 'verbs', path, 'verbs must contain at least one value', 'verbs');
  if (verbs.includes('*') || verbs.every((verb) => VERBS.includes(verb))) return errors;
  return [...errors, unsupportedValue(`${path}.verbs`, verbs, VERBS)];
}

/** There must be one, and `*` stands alone. */
function checkAlone(rule: JsonObject, field: string, path: string, needs: string, what: string): FieldError[] {
  const entries = textsOf(rule, field);
  if (entries.length === 0) return [requiredValue(`${path}.${field}`, needs)];
  if (entries.length === 1 || !entries.includes('*')) return [];
  return [invalidValue(`${path}.${field}`, entries, `if '*' is present, must not specify other ${what}`)];
}

function urlFault(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const star = url.indexOf('*');
  return star < 0 || (star === url.length - 1 && url.endsWith('/*'))
    ? undefined
    : 'wildcard can only do suffix matching';
}

function textsOf(rule: JsonObject, field: string): string[] {
  return textsAt(rule, field).map((text) => text ?? '');
}
