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
import { validateObjectMeta } from '../kinds/metadata-validation.ts';
import { keyOf } from './schema-checks.ts';
import { asObject, type Structural } from './structural.ts';

export function checkListTypes(value: JsonValue | undefined, node: Structural, path = ''): FieldError[] {
  if (!node.hasListTypes) return [];
  const faults: FieldError[] = [];
  if (Array.isArray(value)) {
    if (node.listType === 'set') faults.push(...duplicates(value, path, (item) => [JSON.stringify(item), item]));
    if (node.listType === 'map') {
      const { listMapKeys: keys } = node;
      faults.push(...duplicates(value, path, (item) => [keyOf(item, keys), keysOf(item, keys, node.items)]));
    }
  }
  return [...faults, ...below(value, node, path, checkListTypes)];
}

export function checkEmbedded(value: JsonValue | undefined, node: Structural, path = ''): FieldError[] {
  if (!node.hasEmbedded) return [];
  const object = asObject(value);
  const faults = object && node.isEmbedded ? embeddedFaults(object, path) : [];
  return [...faults, ...below(value, node, path, checkEmbedded)];
}

function duplicates(
  list: readonly JsonValue[],
  path: string,
  read: (item: JsonValue) => readonly [key: string, shown: JsonValue],
): FieldError[] {
  const seen = new Set<string>();
  const faults: FieldError[] = [];
  for (const [index, item] of list.entries()) {
    const [key, shown] = read(item);
    if (seen.has(key)) faults.push(duplicateValue(childPath(path, index), shown));
    else seen.add(key);
  }
  return faults;
}

/** The keys of an element; a key that is absent counts with its default. */
function keysOf(item: JsonValue, keys: readonly string[], node: Structural | undefined): JsonObject {
  const object = asObject(item) ?? {};
  const shown: JsonObject = {};
  for (const key of keys) {
    const value = object[key] ?? node?.properties.get(key)?.default;
    if (value !== undefined) shown[key] = value;
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

type Visit = (value: JsonValue | undefined, node: Structural, path: string) => FieldError[];

function below(value: JsonValue | undefined, node: Structural, path: string, visit: Visit): FieldError[] {
  if (Array.isArray(value)) {
    const { items } = node;
    return items ? value.flatMap((item, index) => visit(item, items, childPath(path, index))) : [];
  }
  const object = asObject(value);
  if (!object) return [];
  const { additional, properties } = node;
  return Object.keys(object).flatMap((name) => {
    const child = properties.get(name) ?? additional;
    return child ? visit(object[name], child, childPath(path, name)) : [];
  });
}
