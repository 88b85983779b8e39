/** Which nodes a pod may go to, and beside which other pods: affinity, spreading, tolerations, gates. */
import {
  checkDnsLabel,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { labelSelector, oneOf } from '../../strategy/validation/checks.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { nodeSelector, nodeSelectorTerm } from '../../strategy/validation/node-selector.ts';
import { checkStruct, checkStructs, type StructCheck, structChecks } from '../../strategy/validation/struct-checks.ts';

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
  appendAll(errors, nodeSelector(affinity[hard] ?? undefined, `${path}.${hard}`, affinity));
  for (const [index, preferred] of objectsAt(affinity, soft).entries()) {
    const at = `${path}.${soft}[${index}]`;
    checkWeight(preferred, at, errors);
    // Values that no label can have are let pass here: they only make the term match nothing.
    const faults = nodeSelectorTerm(preferred.preference ?? undefined, `${at}.preference`, preferred);
    appendAll(
      errors,
      faults.filter(({ field }) => !valueOfLabel.test(field)),
    );
  }
};
const valueOfLabel = /\.matchExpressions\[\d+\]\.values\[\d+\]$/;

function checkWeight(term: JsonObject, path: string, errors: FieldError[]): void {
  const weight = numberAt(term, 'weight') ?? 0;
  if (weight <= 0 || weight > 100) errors.push(invalidValue(`${path}.weight`, weight, 'must be in the range 1-100'));
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
  const matched = new Map(match.map((key, index) => [key, index]));
  if (selector && match.length > 0) {
    const seen = new Set(Object.keys(objectAt(selector, 'matchLabels') ?? {}));
    for (const expression of objectsAt(selector, 'matchExpressions')) {
      const key = textAt(expression, 'key');
      if (matched.has(key) && seen.has(key)) {
        const why = 'exists in both matchLabelKeys and labelSelector';
        errors.push(invalidValue(`${path}[${matched.get(key)}]`, key, why));
      }
      seen.add(key);
    }
  }
  const mismatched = new Set(mismatch);
  for (const [index, key] of match.entries())
    if (mismatched.has(key)) {
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
