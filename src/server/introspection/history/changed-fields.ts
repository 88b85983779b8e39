/**
 * What differs between two objects: the paths of the leaves that do, with both values. What the server itself counts and
 * who manages what are left out.
 *
 * Elements of lists are told apart by their place. Work grows with the size of the objects, what is kept is bounded.
 */
import type { JsonObject, JsonValue } from '../../../api/index.ts';

export type FieldChange = { readonly path: string; readonly from?: JsonValue; readonly to?: JsonValue };

export type FieldChanges = { readonly changes: readonly FieldChange[]; readonly count: number };

const IGNORED = new Set(['metadata.managedFields', 'metadata.resourceVersion', 'metadata.generation']);
const IGNORED_DEPTH = 2;
const LONGEST_IGNORED = 30;
const LONGEST_PATH = 400;
/** Deeper than any object that passes the server's own checks of nesting is shown as one value. */
const DEEPEST = 100;

/** In steps, so that others get their turns; the last is the result. */
export function* changedFields(
  from: JsonObject | undefined,
  to: JsonObject | undefined,
  limit: number,
): Generator<void, FieldChanges, undefined> {
  const found: { changes: FieldChange[]; count: number } = { changes: [], count: 0 };
  // An object that was not there has fields that were not there. What is compared next is on top.
  const open: Comparison[] = [{ path: '', from: from ?? {}, to: to ?? {}, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (next.from === next.to || isIgnored(next)) continue;
    const parts = next.depth < DEEPEST ? partsOf(next) : undefined;
    if (!parts) addChange(found, next, limit);
    else for (let i = parts.length - 1; i >= 0; i--) open.push(parts[i]!);
    yield;
  }
  return found;
}

/** Paths may be as long as the object: no more of them are looked at than must be. */
function isIgnored({ path, depth }: Comparison): boolean {
  return depth === IGNORED_DEPTH && path.length <= LONGEST_IGNORED && IGNORED.has(path);
}

type Comparison = {
  readonly path: string;
  readonly from: JsonValue | undefined;
  readonly to: JsonValue | undefined;
  readonly depth: number;
};

/** What is in both, or in one of them; undefined where that cannot be compared piece by piece. */
function partsOf({ path, from, to, depth }: Comparison): Comparison[] | undefined {
  if (Array.isArray(from) && Array.isArray(to)) {
    const length = Math.max(from.length, to.length);
    return Array.from({ length }, (_, i) => ({ path: `${path}[${i}]`, from: from[i], to: to[i], depth: depth + 1 }));
  }
  if (!isFields(from) || !isFields(to)) return undefined;
  const names = [...Object.keys(from), ...Object.keys(to).filter((name) => !Object.hasOwn(from, name))];
  return names.map((name) => ({
    path: pathTo(path, name),
    from: ownValue(from, name),
    to: ownValue(to, name),
    depth: depth + 1,
  }));
}

function addChange(
  found: { changes: FieldChange[]; count: number },
  { path, from, to }: Comparison,
  limit: number,
): void {
  found.count++;
  if (found.changes.length >= limit) return;
  const shown = path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
  found.changes.push({ path: shown, ...(from !== undefined && { from }), ...(to !== undefined && { to }) });
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
