/** Revisions: what a controller remembers of a template that was, fixed for good. */
import { type FieldError, type JsonObject, requiredValue } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { atLeast } from '../../strategy/validation/checks.ts';
import { checksFrom, immutable } from '../../strategy/validation/field-table.ts';
import { isObject } from '../../strategy/validation/fields.ts';
import { sameField } from '../pods/pod-update.ts';

const checkRevision = checksFrom([['revision', atLeast(0)]]);

export const controllerRevisionStrategy: Strategy = {
  validate: (revision, old) => {
    const { data } = revision as JsonObject;
    const errors: FieldError[] = [];
    if (!old && (data === undefined || data === null)) errors.push(requiredValue('data', 'data is mandatory'));
    else if (!old && !isObject(data)) errors.push(requiredValue('data', 'data must be a valid JSON object'));
    return [...errors, ...checkRevision(revision)];
  },
  validateUpdate: (revision, old) => {
    const { data } = revision as JsonObject;
    return sameField(data, (old as JsonObject).data) ? [] : [immutable('data', data)];
  },
};
