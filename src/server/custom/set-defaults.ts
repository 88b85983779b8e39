/**
 * Fills in what a custom object leaves open: a null where null is no value is taken away, and what is then missing gets
 * its default, at every depth. In place; doing it twice is doing it once.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';
import { asObject, type Structural } from './structural.ts';

export function setDefaults(value: JsonValue | undefined, node: Structural): void {
  if (Array.isArray(value)) {
    if (node.items) fillList(value, node.items);
    return;
  }
  const object = asObject(value);
  if (!object) return;
  for (const [name, child] of node.properties) fillField(object, name, child);
  if (node.additional) fillMap(object, node, node.additional);
}

function fillField(owner: JsonObject, name: string, node: Structural): void {
  const value = Object.hasOwn(owner, name) ? owner[name] : undefined;
  const isAbsent = value === undefined || (value === null && !node.isNullable);
  if (!isAbsent) {
    if (typeof value === 'object') setDefaults(value, node);
    return;
  }
  if (node.default === undefined) {
    if (value === null && !node.keepsUnknown) delete owner[name];
    return;
  }
  owner[name] = structuredClone(node.default);
  setDefaults(owner[name], node);
}

function fillMap(map: JsonObject, { properties }: Structural, node: Structural): void {
  for (const name of Object.keys(map)) if (!properties.has(name)) fillField(map, name, node);
}

function fillList(list: JsonValue[], node: Structural): void {
  for (let i = 0; i < list.length; i++) {
    if (list[i] === null && !node.isNullable && node.default !== undefined) list[i] = structuredClone(node.default);
    setDefaults(list[i], node);
  }
}
