/** Conditions as most kinds have them in their status: a type, whether it holds, since when, and why. */
import { checkQualifiedName, duplicateValue, invalidValue } from '../../../api/index.ts';
import { allOf, atMostBytes, oneOf, required, text } from './checks.ts';
import { type Check, listOf, struct } from './field-table.ts';
import { isNumber, objectsAt, textAt } from './fields.ts';

const reason = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const reasonText =
  'a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters ' +
  "or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or " +
  "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

const condition = listOf(
  struct([
    ['type', text(checkQualifiedName)],
    ['status', (value, path, owner) => oneOf('False', 'True', 'Unknown')(value ?? '', path, owner)],
    [
      'observedGeneration',
      (value, path) =>
        isNumber(value) && value < 0 ? [invalidValue(path, value, 'must be greater than or equal to zero')] : [],
    ],
    ['lastTransitionTime', required],
    [
      'reason',
      required,
      allOf(
        text((value) => (reason.test(value) ? [] : [reasonText])),
        atMostBytes(1024),
      ),
    ],
    ['message', atMostBytes(32 * 1024)],
  ]),
);

export const conditions: Check = (value, path, owner) => {
  const errors = condition(value, path, owner);
  const seen = new Set<string>();
  for (const [index, one] of objectsAt({ value: value ?? null }, 'value').entries()) {
    const type = textAt(one, 'type');
    if (seen.has(type)) errors.push(duplicateValue(`${path}[${index}].type`, type));
    seen.add(type);
  }
  return errors;
};
