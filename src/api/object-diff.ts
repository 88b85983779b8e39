/**
 * What differs between two states of an object, as paths and values: `spec.replicas: 1 -> 3`.
 *
 * Items of lists are told apart by `name`, `key`, `type`, `uid` or `ip` where all of them have it, so that one that is put in front does not
 * change all others; else by their place. What every write changes (version, managed fields) is left out. One pass over
 * both, so it takes as long as they are big.
 */
export type FieldChange = {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
};

const NOISE = new Set(['metadata.resourceVersion', 'metadata.managedFields', 'metadata.generation']);
const KEYS = ['name', 'key', 'type', 'uid', 'ip'];
/** Deeper than any real object; what is below is compared as a whole. */
const MAX_DEPTH = 64;

export function diffObjects(before: unknown, after: unknown): FieldChange[] {
  const changes: FieldChange[] = [];
  compare('', before, after, changes, 0);
  return changes;
}

export function showChange({ path, before, after }: FieldChange): string {
  if (before === undefined) return `+ ${path}: ${shown(after)}`;
  if (after === undefined) return `- ${path}: ${shown(before)}`;
  return `~ ${path}: ${shown(before)} -> ${shown(after)}`;
}

function compare(path: string, before: unknown, after: unknown, into: FieldChange[], depth: number): void {
  if (Object.is(before, after) || NOISE.has(path)) return;
  if (depth < MAX_DEPTH && isMap(before) && isMap(after)) {
    for (const field of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(join(path, field), before[field], after[field], into, depth + 1);
    return;
  }
  if (depth < MAX_DEPTH && Array.isArray(before) && Array.isArray(after)) {
    const key = KEYS.find((one) => hasKey(before, one) && hasKey(after, one));
    const [old, now] = [byKey(before, key), byKey(after, key)];
    for (const place of new Set([...old.keys(), ...now.keys()]))
      compare(`${path}[${place}]`, old.get(place), now.get(place), into, depth + 1);
    return;
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  into.push({ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) });
}

function hasKey(items: readonly unknown[], key: string): boolean {
  const values = items.map((item) => (isMap(item) ? item[key] : undefined));
  return values.every((value) => typeof value === 'string') && new Set(values).size === values.length;
}

function byKey(items: readonly unknown[], key: string | undefined): Map<string, unknown> {
  return new Map(items.map((item, i) => [key === undefined ? String(i) : `${key}=${(item as never)[key]}`, item]));
}

function join(path: string, field: string): string {
  if (/[.[\]/]/.test(field)) return `${path}[${JSON.stringify(field)}]`;
  return path === '' ? field : `${path}.${field}`;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 200 ? `${text.slice(0, 197)}...` : text;
}
