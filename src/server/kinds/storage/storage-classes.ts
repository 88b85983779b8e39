/** Classes of storage, and classes of attributes that a volume can be given later. */
import {
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooLong,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf, mostFaults } from '../../strategy/validation/append-all.ts';
import { oneOf, required, text } from '../../strategy/validation/checks.ts';
import {
  type Check,
  checksFrom,
  defaultsFrom,
  immutable,
  listOf,
  struct,
} from '../../strategy/validation/field-table.ts';
import { objectsAt, sameStruct, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { labelWarning } from '../../strategy/validation/node-selector.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETERS_BYTES = 256 * 1024;
/** How often the same is said of one term at most. */
const MOST_TOLD = 20;

/** A driver's name, which is shown in small letters when it is bad. */
const provisioner: Check = (value, path) => {
  const name = typeof value === 'string' ? value.toLowerCase() : '';
  if (name === '') return [requiredValue(path)];
  return checkQualifiedName(name).map((problem) => invalidValue(path, name, problem));
};

function parameters(isNeeded: boolean): Check {
  return (value, path) => {
    const entries = Object.entries((value ?? {}) as JsonObject);
    if (entries.length > MAX_PARAMETERS) return [tooLong(path, MAX_PARAMETERS)];
    const errors: FieldError[] = [];
    let bytes = 0;
    for (const [key, parameter] of entries) {
      if (key === '') errors.push(invalidValue(path, key, 'field can not be empty.'));
      bytes += Buffer.byteLength(key) + Buffer.byteLength(String(parameter ?? ''));
    }
    if (bytes > MAX_PARAMETERS_BYTES) errors.push(tooLong(path, MAX_PARAMETERS_BYTES));
    if (isNeeded && entries.length === 0) errors.push(requiredValue(path, 'must contain at least one key/value pair'));
    return errors;
  };
}

const requirements = listOf(
  struct([
    ['key', text(checkQualifiedName)],
    ['values', required],
  ]),
);

const topologyTerm: Check = (value, path) => {
  const term = value as JsonObject;
  const at = `${path}.matchLabelExpressions`;
  const errors = requirements(term.matchLabelExpressions ?? undefined, at, term);
  const seen = new Set<string>();
  for (const [index, requirement] of objectsAt(term, 'matchLabelExpressions').entries()) {
    const values = new Set<string>();
    for (const [place, one] of textsAt(requirement, 'values').entries()) {
      if (values.has(one)) errors.push(duplicateValue(`${at}[${index}].values[${place}]`, one));
      values.add(one);
    }
    const key = textAt(requirement, 'key');
    if (seen.has(key)) errors.push(duplicateValue(`${at}[${index}].key`, key));
    seen.add(key);
  }
  return errors;
};

/** No two terms may say the same; one that says nothing is told once for every term there is, and those like it. */
const topologies: Check = (value, path) => {
  const terms = (value ?? []) as JsonObject[];
  const errors: FieldError[] = [];
  const seen = new Map([['', terms.length]]);
  for (const [index, term] of terms.entries()) {
    const at = `${path}[${index}]`;
    appendAll(errors, topologyTerm(term ?? {}, at, {}));
    const content = contentOf(term ?? {});
    const count = seen.get(content) ?? 0;
    for (let told = 0; told < Math.min(count, MOST_TOLD); told++)
      errors.push(duplicateValue(`${at}.matchLabelExpressions`, ''));
    seen.set(content, count + 1);
    if (errors.length > mostFaults) break;
  }
  return errors;
};

function contentOf(term: JsonObject): string {
  const parts = new Map<string, string>();
  for (const requirement of objectsAt(term, 'matchLabelExpressions'))
    parts.set(textAt(requirement, 'key'), JSON.stringify([...new Set(textsAt(requirement, 'values'))].sort()));
  return JSON.stringify([...parts].sort(([a], [b]) => (a < b ? -1 : 1))).replace('[]', '');
}

const fixedFields = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'];

export const storageClassStrategy: Strategy = {
  setDefaults: defaultsFrom([
    ['reclaimPolicy', 'Delete', (owner) => owner.reclaimPolicy !== ''],
    ['volumeBindingMode', 'Immediate', (owner) => owner.volumeBindingMode !== ''],
  ]),
  validate: checksFrom([
    ['provisioner', provisioner],
    ['parameters', parameters(false)],
    ['reclaimPolicy', (value, path, owner) => (value === '' ? [] : oneOf('Delete', 'Retain')(value, path, owner))],
    ['volumeBindingMode', oneOf('Immediate', 'WaitForFirstConsumer')],
    ['allowedTopologies', topologies],
  ]),
  validateUpdate: (object, old) =>
    fixedFields
      .filter((field) => !sameStruct(object[field], old[field]))
      .map((field) => immutable(field, object[field] ?? (field === 'provisioner' ? '' : null))),
  warnings: (object) =>
    faultsOf(objectsAt(object as JsonObject, 'allowedTopologies'), (term, index) =>
      warningsForTopology(term, `allowedTopologies[${index}].matchLabelExpressions`),
    ),
};

function warningsForTopology(term: JsonObject, path: string): string[] {
  return faultsOf(objectsAt(term, 'matchLabelExpressions'), (requirement, index) => {
    const text = labelWarning(textAt(requirement, 'key'));
    return text ? [`${path}[${index}].key: ${text}`] : [];
  });
}

export const volumeAttributesClassStrategy: Strategy = {
  validate: checksFrom([
    ['driverName', provisioner],
    ['parameters', parameters(true)],
  ]),
  validateUpdate: (object, old) =>
    ['driverName', 'parameters']
      .filter((field) => !sameStruct(object[field], old[field]))
      .map((field) => forbiddenValue(field, `updates to ${field} are forbidden.`)),
};
