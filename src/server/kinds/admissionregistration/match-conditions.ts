/**
 * The conditions under which a webhook is called or a policy asked: named expressions, each name once. Others have their
 * turn between two of them.
 */
import {
  checkQualifiedName,
  childPath,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooMany,
} from '../../../api/index.ts';
import { bool } from '../../cel/values/types.ts';
import type { WorkSlices } from '../../event-loop/work-slices.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { textAt } from '../../strategy/validation/fields.ts';
import { checkExpression } from './expressions.ts';

const LIMIT_CONDITIONS = 64;

export async function checkMatchConditions(
  conditions: readonly JsonObject[],
  path: string,
  hasParams: boolean,
  slices: WorkSlices,
): Promise<FieldError[]> {
  const errors = conditions.length > LIMIT_CONDITIONS ? [tooMany(path, conditions.length, LIMIT_CONDITIONS)] : [];
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const at = childPath(path, index);
    const [name, expression] = [textAt(condition, 'name'), textAt(condition, 'expression').trim()];
    if (expression === '') errors.push(requiredValue(`${at}.expression`));
    else appendAll(errors, checkExpression(expression, `${at}.expression`, { hasParams }, [bool]));
    if (name === '') errors.push(requiredValue(`${at}.name`));
    else {
      for (const problem of checkQualifiedName(name)) errors.push(invalidValue(`${at}.name`, name, problem));
      if (seen.has(name)) errors.push(duplicateValue(`${at}.name`, name));
      seen.add(name);
    }
    if (slices.isOver) await slices.pause();
  }
  return errors;
}
