/**
 * Whether the defaults that a schema declares are themselves what it allows: of the right type, within bounds, and
 * without fields that pruning would take away. A default that is too large with the defaults inside it is refused.
 */
import { invalidValue, type JsonValue } from '../../api/index.ts';
import { cloneJson } from '../../api/json-objects.ts';
import { compileSchema } from './schema-checks.ts';
import { DefaultRoom, LIMIT_DEFAULT_BYTES, NoRoomError, setDefaults } from './set-defaults.ts';
import { asObject, type Structural } from './structural.ts';
import { Validation } from './validation.ts';

const CHARACTERS_PER_STEP = 8;

/** The default of one node of a schema that is known to be structural. */
export function checkDefault(node: Structural, path: string, validation: Validation): void {
  const { default: value, source } = node;
  if (value === undefined) return;
  const at = `${path}.default`;
  if (hasUnknown(value, node)) {
    validation.push(invalidValue(at, value, 'must not have unknown fields'));
    return;
  }
  const filled = cloneJson(value);
  const room = new DefaultRoom();
  try {
    setDefaults(filled, node, room);
  } catch (err) {
    if (!(err instanceof NoRoomError)) throw err;
    validation.push(
      invalidValue(at, value, `must not be more than ${LIMIT_DEFAULT_BYTES} bytes with all defaults in it`),
    );
    return;
  }
  // Defaults inside others are made and walked once more for each that they are in.
  validation.chargeSteps(room.taken / CHARACTERS_PER_STEP);
  // Judged as it is written, without what would be filled in; told of below the default.
  const trial = new Validation(validation);
  compileSchema(source)(value, undefined, undefined, trial);
  for (const { field, ...fault } of trial.faults)
    validation.push({ ...fault, field: field === '<nil>' || field === '' ? at : `${at}.${field}` });
}

/** Whether pruning would take something away. */
function hasUnknown(value: JsonValue, node: Structural): boolean {
  const { items, properties, additional, source } = node;
  if (Array.isArray(value)) return items !== undefined && value.some((item) => hasUnknown(item, items));
  const object = asObject(value);
  if (!object || node.isEmbedded || source.additionalProperties === true) return false;
  return Object.keys(object).some((name) => {
    const child = properties.get(name) ?? additional;
    if (!child) return !node.keepsUnknown;
    return Object.keys(child.source).length > 0 && hasUnknown(object[name]!, child);
  });
}
