/**
 * The JSON patch (RFC 6902) that makes one value of another. Lists are compared place by place, so an item put in front
 * is many small changes: right, if not shortest. Linear in both.
 */
import type { JsonPatchOperation } from '../../client/advanced.ts';

export function jsonDiff(from: unknown, to: unknown): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  compare(from, to, '', operations);
  return operations;
}

function compare(from: unknown, to: unknown, path: string, out: JsonPatchOperation[]): void {
  if (Object.is(from, to)) return;
  if (Array.isArray(from) && Array.isArray(to)) compareLists(from, to, path, out);
  else if (isObject(from) && isObject(to)) compareObjects(from, to, path, out);
  else out.push({ op: 'replace', path, value: to });
}

function compareLists(from: readonly unknown[], to: readonly unknown[], path: string, out: JsonPatchOperation[]): void {
  const common = Math.min(from.length, to.length);
  for (let at = 0; at < common; at++) compare(from[at], to[at], `${path}/${at}`, out);
  for (let at = from.length - 1; at >= common; at--) out.push({ op: 'remove', path: `${path}/${at}` });
  for (const value of to.slice(common)) out.push({ op: 'add', path: `${path}/-`, value });
}

type Fields = Readonly<Record<string, unknown>>;

function compareObjects(from: Fields, to: Fields, path: string, out: JsonPatchOperation[]): void {
  for (const name of Object.keys(from))
    if (!Object.hasOwn(to, name) || to[name] === undefined)
      out.push({ op: 'remove', path: `${path}/${pointer(name)}` });
  for (const [name, value] of Object.entries(to)) {
    if (value === undefined) continue;
    const at = `${path}/${pointer(name)}`;
    if (Object.hasOwn(from, name)) compare(from[name], value, at, out);
    else out.push({ op: 'add', path: at, value });
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function pointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
