/**
 * Fills in what a custom object leaves open: a null where null is no value is taken away, and what is then missing gets
 * its default, at every depth. In place; doing it twice is doing it once.
 *
 * Defaults inside defaults multiply, so that what they add is limited: beyond it there is no room, and it ends with a
 * NoRoomError, everything before that filled in.
 */

import type { JsonObject, JsonValue } from '../../api/index.ts';
import { cloneJson, ownValue, setKey } from '../../api/json-objects.ts';
import { jsonText } from '../../api/json-text.ts';
import { asObject, type Structural } from './structural.ts';

export class NoRoomError extends Error {
  override readonly name = 'NoRoomError';
}

/** How much defaults may add to one object: as much as a body may have. */
export const LIMIT_DEFAULT_BYTES: number = 3 * 1024 * 1024;

/** What is taken of it. */
export class DefaultRoom {
  taken = 0;
  /** How long the defaults are; by themselves, without what is filled into them. */
  readonly #lengths = new Map<Structural, number>();

  take(node: Structural, name: string): void {
    let length = this.#lengths.get(node);
    if (length === undefined) {
      length = jsonText(node.default).length;
      this.#lengths.set(node, length);
    }
    this.taken += length + name.length + 4;
    if (this.taken > LIMIT_DEFAULT_BYTES)
      throw new NoRoomError(`Cannot fill in defaults: they add more than ${LIMIT_DEFAULT_BYTES} bytes`);
  }
}

export function setDefaults(
  value: JsonValue | undefined,
  node: Structural,
  room: DefaultRoom = new DefaultRoom(),
): void {
  if (Array.isArray(value)) {
    if (node.items) fillList(value, node.items, room);
    return;
  }
  const object = asObject(value);
  if (!object) return;
  const { properties, additional, defaulted } = node;
  for (const name of Object.keys(object)) {
    const child = properties.get(name) ?? additional;
    if (child) fillField(object, name, child, room);
  }
  for (const [name, child] of defaulted) if (!Object.hasOwn(object, name)) fillField(object, name, child, room);
}

function fillField(owner: JsonObject, name: string, node: Structural, room: DefaultRoom): void {
  const value = ownValue(owner, name);
  const isAbsent = value === undefined || (value === null && !node.isNullable);
  if (!isAbsent) {
    if (typeof value === 'object') setDefaults(value, node, room);
    return;
  }
  if (node.default === undefined) {
    if (value === null && !node.keepsUnknown) delete owner[name];
    return;
  }
  room.take(node, name);
  const filled = cloneJson(node.default);
  setKey(owner, name, filled);
  setDefaults(filled, node, room);
}

function fillList(list: JsonValue[], node: Structural, room: DefaultRoom): void {
  for (let i = 0; i < list.length; i++) {
    if (list[i] === null && !node.isNullable && node.default !== undefined) {
      room.take(node, '');
      list[i] = cloneJson(node.default);
    }
    setDefaults(list[i], node, room);
  }
}
