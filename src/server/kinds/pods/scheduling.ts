/** Which nodes a pod may go to, and beside which other pods: affinity, spreading, tolerations, gates. */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from '../engine/append-all.ts';
import { labelSelector, oneOf } from '../engine/checks.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../engine/fields.ts';
import { checkStruct, checkStructs, type StructCheck, structChecks } from '../engine/struct-checks.ts';

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';

export const checkAffinity: StructCheck = (affinity, path, errors) => {
  checkStruct(checkNodeAffinity, affinity, 'nodeAffinity', path, errors);
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const terms = objectAt(affinity, kind);
    if (!terms) continue;
    checkStructs(checkPodTerm, terms, hard, `${path}.${kind}`, errors);
    checkStructs(checkWeightedPodTerm, terms, soft, `${path}.${kind}`, errors);
  }
};

const checkNodeAffinity: StructCheck = (affinity, path, errors) => {
  const needed = objectAt(affinity, hard);
  if (needed) {
    const terms = objectsAt(needed, 'nodeSelectorTerms');
    const at = `${path}.${hard}.nodeSelectorTerms`;
    if (terms.length === 0) errors.push(requiredValue(at, 'must have at least one node selector term'));
    for (const [index, term] of terms.entries()) checkNodeTerm(term, `${at}[${index}]`, true, errors);
  }
  for (const [index, preferred] of objectsAt(affinity, soft).entries()) {
    const at = `${path}.${soft}[${index}]`;
    checkWeight(preferred, at, errors);
    // Values that no label can have are let pass here: they only make the term match nothing.
    checkNodeTerm(objectAt(preferred, 'preference') ?? {}, `${at}.preference`, false, errors);
  }
};

function checkWeight(term: JsonObject, path: string, errors: FieldError[]): void {
  const weight = numberAt(term, 'weight') ?? 0;
  if (weight <= 0 || weight > 100) errors.push(invalidValue(`${path}.weight`, weight, 'must be in the range 1-100'));
}

function checkNodeTerm(term: JsonObject, path: string, checksValues: boolean, errors: FieldError[]): void {
  for (const [index, one] of objectsAt(term, 'matchExpressions').entries())
    checkNodeExpression(one, `${path}.matchExpressions[${index}]`, checksValues, errors);
  for (const [index, one] of objectsAt(term, 'matchFields').entries())
    checkNodeField(one, `${path}.matchFields[${index}]`, errors);
}

function checkNodeExpression(one: JsonObject, path: string, checksValues: boolean, errors: FieldError[]): void {
  const [operator, key, values] = [textAt(one, 'operator'), textAt(one, 'key'), textsAt(one, 'values')];
  const at = `${path}.values`;
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) errors.push(requiredValue(at, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(forbiddenValue(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1)
      errors.push(requiredValue(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else errors.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${path}.key`, key, problem));
  if (!checksValues) return;
  for (const [index, value] of values.entries())
    for (const problem of checkLabelValue(value)) errors.push(invalidValue(`${at}[${index}]`, value, problem));
}

function checkNodeField(one: JsonObject, path: string, errors: FieldError[]): void {
  const [operator, key, values] = [textAt(one, 'operator'), textAt(one, 'key'), textsAt(one, 'values')];
  if (operator !== 'In' && operator !== 'NotIn')
    errors.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  else if (values.length !== 1) {
    const why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(requiredValue(`${path}.values`, why));
  }
  if (key !== 'metadata.name') errors.push(invalidValue(`${path}.key`, key, 'not a valid field selector key'));
  else
    for (const [index, value] of values.entries())
      for (const problem of checkDnsSubdomain(value))
        errors.push(invalidValue(`${path}.values[${index}]`, value, problem));
}

const checkWeightedPodTerm: StructCheck = (term, path, errors) => {
  checkWeight(term, path, errors);
  checkPodTerm(objectAt(term, 'podAffinityTerm') ?? {}, `${path}.podAffinityTerm`, errors);
};

const unselected = 'must not be specified when labelSelector is not set';

const checkPodTerm: StructCheck = (term, path, errors) => {
  for (const selector of ['labelSelector', 'namespaceSelector'])
    appendAll(errors, labelSelector(term[selector] ?? undefined, `${path}.${selector}`, term));
  for (const namespace of textsAt(term, 'namespaces'))
    for (const problem of checkDnsLabel(namespace)) errors.push(invalidValue(`${path}.namespace`, namespace, problem));
  checkLabelKeys(term, path, errors);
  const key = textAt(term, 'topologyKey');
  if (key === '') errors.push(requiredValue(`${path}.topologyKey`, 'can not be empty'));
  for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${path}.topologyKey`, key, problem));
};

/** Keys whose value the pod itself has: they are in the selector already, once. */
function checkLabelKeys(term: JsonObject, path: string, errors: FieldError[]): void {
  const selector = objectAt(term, 'labelSelector');
  for (const field of ['matchLabelKeys', 'mismatchLabelKeys']) {
    const keys = textsAt(term, field);
    if (keys.length === 0) continue;
    if (!selector) errors.push(forbiddenValue(`${path}.${field}`, unselected));
    else
      for (const [index, key] of keys.entries())
        for (const problem of checkQualifiedName(key))
          errors.push(invalidValue(`${path}.${field}[${index}]`, key, problem));
  }
  const [match, mismatch] = [textsAt(term, 'matchLabelKeys'), textsAt(term, 'mismatchLabelKeys')];
  if (selector && match.length > 0) {
    const seen = new Set(Object.keys(objectAt(selector, 'matchLabels') ?? {}));
    for (const expression of objectsAt(selector, 'matchExpressions')) {
      const key = textAt(expression, 'key');
      if (match.includes(key) && seen.has(key)) {
        const why = 'exists in both matchLabelKeys and labelSelector';
        errors.push(invalidValue(`${path}[${match.lastIndexOf(key)}]`, key, why));
      }
      seen.add(key);
    }
  }
  for (const [index, key] of match.entries())
    if (mismatch.includes(key)) {
      const why = 'exists in both matchLabelKeys and mismatchLabelKeys';
      errors.push(invalidValue(`${path}.matchLabelKeys[${index}]`, key, why));
    }
}

const checkSpread = structChecks([
  ['nodeAffinityPolicy', oneOf('Honor', 'Ignore')],
  ['nodeTaintsPolicy', oneOf('Honor', 'Ignore')],
  ['labelSelector', labelSelector],
]);
const reactions = ['DoNotSchedule', 'ScheduleAnyway'];

export function validateSpreading(constraints: readonly JsonObject[], path: string, errors: FieldError[]): void {
  const last = new Map(constraints.map((one, index) => [spreadKey(one), index]));
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const skew = numberAt(constraint, 'maxSkew') ?? 0;
    if (skew <= 0) errors.push(invalidValue(`${at}.maxSkew`, skew, 'must be greater than zero'));
    if (textAt(constraint, 'topologyKey') === '') errors.push(requiredValue(`${at}.topologyKey`, 'can not be empty'));
    const when = textAt(constraint, 'whenUnsatisfiable');
    if (!reactions.includes(when)) errors.push(unsupportedValue(`${at}.whenUnsatisfiable`, when, reactions));
    if (last.get(spreadKey(constraint))! > index)
      errors.push(duplicateValue(`${at}.{topologyKey, whenUnsatisfiable}`, spreadKey(constraint)));
    const domains = numberAt(constraint, 'minDomains');
    if (domains !== undefined) {
      if (domains <= 0) errors.push(invalidValue(`${at}.minDomains`, domains, 'must be greater than zero'));
      if (when !== 'DoNotSchedule') {
        const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${when}`;
        errors.push(invalidValue(`${at}.minDomains`, domains, why));
      }
    }
    checkSpread(constraint, at, errors);
    checkLabelKeys(constraint, at, errors);
  }
}

function spreadKey(constraint: JsonObject): string {
  return `{${textAt(constraint, 'topologyKey')}, ${textAt(constraint, 'whenUnsatisfiable')}}`;
}

export function validateGates(gates: readonly JsonObject[], path: string, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const [index, gate] of gates.entries()) {
    const name = textAt(gate, 'name');
    for (const problem of checkQualifiedName(name)) errors.push(invalidValue(`${path}[${index}]`, name, problem));
    if (seen.has(name)) errors.push(duplicateValue(`${path}[${index}]`, name));
    seen.add(name);
  }
}
