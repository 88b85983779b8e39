/**
 * What a schema asks of values beyond their types: lists that are sets or maps hold nothing twice, and objects inside
 * objects have what every object of the API has.
 */
import {
  checkDnsSubdomain,
  childPath,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type ObjectMeta,
  requiredValue,
} from '../../api/index.ts';
import { jsonText } from '../../api/json-text.ts';
import { type Place, pathOf } from '../../schemas/structural/place.ts';
import { keyOf } from '../../schemas/structural/schema-checks.ts';
import { asObject, type Structural } from '../../schemas/structural/structural.ts';
import type { Validation } from '../../schemas/structural/validation.ts';
import { ownValue, setKey } from '../codec/json/json-objects.ts';
import { validateObjectMeta } from '../strategy/validation/metadata-validation.ts';

export function checkListTypes(
  value: JsonValue | undefined,
  node: Structural,
  validation: Validation,
  place?: Place,
): void {
  if (!node.hasListTypes) return;
  if (Array.isArray(value)) {
    const { listMapKeys: keys, items } = node;
    if (node.listType === 'set')
      findTwice(
        value,
        place,
        (item) => (typeof item === 'object' && item !== null ? `\0${jsonText(item)}` : item), // a value is no JSON of another
        (item) => item,
        validation,
      );
    if (node.listType === 'map') {
      validation.chargeSteps(keys.length * value.length);
      findTwice(
        value,
        place,
        (item) => keyOf(item, keys),
        (item) => keysOf(item, keys, items),
        validation,
      );
    }
  }
  visitBelow(value, node, validation, place, checkListTypes);
}

export function checkEmbedded(
  value: JsonValue | undefined,
  node: Structural,
  validation: Validation,
  place?: Place,
): void {
  if (!node.hasEmbedded) return;
  const object = asObject(value);
  if (object && node.isEmbedded) validation.pushAll(embeddedFaults(object, pathOf(place)));
  visitBelow(value, node, validation, place, checkEmbedded);
}

function findTwice(
  list: readonly JsonValue[],
  place: Place | undefined,
  read: (item: JsonValue) => JsonValue,
  show: (item: JsonValue) => JsonValue,
  validation: Validation,
): void {
  const seen = new Set<JsonValue>();
  let twice = 0;
  for (let index = 0; index < list.length; index++) {
    seen.add(read(list[index]!));
    if (seen.size + twice > index) continue;
    twice++;
    validation.push(duplicateValue(pathOf({ of: place, name: index }), show(list[index]!)));
  }
}

/** The keys of an element; a key that is absent counts with its default. */
function keysOf(item: JsonValue, keys: readonly string[], node: Structural | undefined): JsonObject {
  const object = asObject(item) ?? {};
  const shown: JsonObject = {};
  for (const key of keys) {
    const value = ownValue(object, key) ?? node?.properties.get(key)?.default;
    if (value !== undefined) setKey(shown, key, value);
  }
  return shown;
}

function embeddedFaults(object: JsonObject, path: string): FieldError[] {
  const faults: FieldError[] = [];
  for (const field of ['apiVersion', 'kind']) {
    const value = object[field];
    const at = childPath(path, field);
    if (value === undefined || value === null || value === '') faults.push(requiredValue(at));
    else if (typeof value !== 'string') faults.push(invalidValue(at, value, 'must be a string'));
  }
  const metadata = asObject(object.metadata) as ObjectMeta | undefined;
  if (!metadata) return faults;
  const fieldPath = childPath(path, 'metadata');
  const isNamespaced = metadata.namespace !== undefined && metadata.namespace !== '';
  const rules = { isNamespaced, validateName: checkDnsSubdomain, fieldPath, allowsPlainFinalizers: true };
  // An embedded object need not be complete: it may still be without a name.
  const found = validateObjectMeta(metadata, rules).filter(({ reason }) => reason !== 'FieldValueRequired');
  return [...faults, ...found];
}

type Visit = (value: JsonValue | undefined, node: Structural, validation: Validation, place: Place) => void;

function visitBelow(
  value: JsonValue | undefined,
  node: Structural,
  validation: Validation,
  place: Place | undefined,
  visit: Visit,
): void {
  const { items, additional, properties } = node;
  if (Array.isArray(value)) {
    validation.chargeSteps(value.length);
    if (items) for (let i = 0; i < value.length; i++) visit(value[i], items, validation, { of: place, name: i });
    return;
  }
  const object = asObject(value);
  if (!object) return;
  const names = Object.keys(object);
  validation.chargeSteps(names.length);
  for (const name of names) {
    const child = properties.get(name) ?? additional;
    if (child) visit(object[name], child, validation, { of: place, name });
  }
}
