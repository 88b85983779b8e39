/**
 * What differs between two objects: the paths of the leaves that do, with both values. What the server itself counts and
 * who manages what are left out.
 *
 * Elements of lists are told apart by their place. Work grows with the size of the objects, what is kept is bounded.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';

export type FieldChange = { readonly path: string; readonly from?: JsonValue; readonly to?: JsonValue };

export type FieldChanges = { readonly changes: readonly FieldChange[]; readonly count: number };

const IGNORED = new Set(['metadata.managedFields', 'metadata.resourceVersion', 'metadata.generation']);
const LONGEST_PATH = 400;
/** Deeper than any object that passes the server's own checks of nesting is shown as one value. */
const DEEPEST = 100;

export function changedFields(from: JsonObject | undefined, to: JsonObject | undefined, limit: number): FieldChanges {
  const found = new Changes(limit);
  found.compare('', from, to, 0);
  return found;
}

class Changes implements FieldChanges {
  readonly changes: FieldChange[] = [];
  count = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  compare(path: string, from: JsonValue | undefined, to: JsonValue | undefined, depth: number): void {
    if (from === to || IGNORED.has(path)) return;
    const isAtRoot = path === ''; // an object that was not there has fields that were not there
    if (
      depth < DEEPEST &&
      (isFields(from) || (isAtRoot && from === undefined)) &&
      (isFields(to) || (isAtRoot && to === undefined))
    )
      this.#compareFields(path, from ?? {}, to ?? {}, depth);
    else if (depth < DEEPEST && Array.isArray(from) && Array.isArray(to)) this.#compareLists(path, from, to, depth);
    else this.#add(path, from, to);
  }

  #compareFields(path: string, from: JsonObject, to: JsonObject, depth: number): void {
    for (const name of Object.keys(from)) this.compare(pathTo(path, name), from[name], ownValue(to, name), depth + 1);
    for (const name of Object.keys(to))
      if (!Object.hasOwn(from, name)) this.compare(pathTo(path, name), undefined, to[name], depth + 1);
  }

  #compareLists(path: string, from: readonly JsonValue[], to: readonly JsonValue[], depth: number): void {
    const length = Math.max(from.length, to.length);
    for (let i = 0; i < length; i++) this.compare(`${path}[${i}]`, from[i], to[i], depth + 1);
  }

  #add(path: string, from: JsonValue | undefined, to: JsonValue | undefined): void {
    this.count++;
    if (this.changes.length >= this.#limit) return;
    const shown = path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
    this.changes.push({ path: shown, ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
  }
}

function isFields(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What every object inherits is no field of it. */
function ownValue(fields: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function pathTo(path: string, name: string): string {
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
