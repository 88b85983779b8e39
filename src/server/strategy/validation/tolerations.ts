/** Tolerations wherever they stand, in the words of kube-apiserver. */
import {
  checkLabelValue,
  checkQualifiedName,
  type FieldError,
  invalidValue,
  type JsonObject,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll, mostFaults } from './append-all.ts';
import { oneOf } from './checks.ts';
import { textAt } from './fields.ts';

const effects = oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute');
const OPERATORS = ['Equal', 'Exists'];
/** These compare numbers; they are known, and not switched on. */
const COMPARING = ['Lt', 'Gt'];

export function checkTolerations(tolerations: readonly JsonObject[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, toleration] of tolerations.entries()) {
    appendAll(errors, checkToleration(toleration ?? {}, `${path}[${index}]`));
    if (errors.length > mostFaults) break;
  }
  return errors;
}

function checkToleration(toleration: JsonObject, path: string): FieldError[] {
  const [key, operator] = [textAt(toleration, 'key'), textAt(toleration, 'operator')];
  const [value, effect] = [textAt(toleration, 'value'), textAt(toleration, 'effect')];
  const errors: FieldError[] = [];
  const refuse = (field: string, shown: string, why: string) =>
    errors.push(invalidValue(`${path}.${field}`, shown, why));
  for (const problem of key === '' ? [] : checkQualifiedName(key)) refuse('key', key, problem);
  if (key === '' && operator !== 'Exists')
    refuse(
      'operator',
      operator,
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    );
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
    refuse('effect', effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  if (operator === 'Equal' || operator === '') {
    const problems = checkLabelValue(value);
    if (problems.length > 0) refuse('operator', value, problems.join(';'));
  } else if (operator === 'Exists') {
    if (value !== '') refuse('operator', value, "value must be empty when `operator` is 'Exists'");
  } else {
    const supported = COMPARING.includes(operator) ? [...OPERATORS, ...COMPARING] : OPERATORS;
    errors.push(unsupportedValue(`${path}.operator`, operator, supported));
  }
  return effect === '' ? errors : [...errors, ...effects(effect, `${path}.effect`, toleration)];
}
