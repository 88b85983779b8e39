/**
 * The words in which the tables of all kinds are written: a column is a name and a small pure function from an object
 * to its cell. Kinds are data made of these; only `table.ts` knows what a Table looks like on the wire.
 *
 * Objects come as they are stored. A reader that does not find what it asks for, or finds another type, answers the
 * empty value of its own type: a table never fails because of an object.
 */
import type { JsonValue } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { humanAge } from '../../api/scalars/durations.ts';
import type { PathSteps } from './json-path.ts';

export type CellContext = {
  readonly nowMs: number;
  /** For all cells of a row that look by a JSONPath. */
  readonly steps: PathSteps;
};
export type Cell = (object: KubeObject, context: CellContext) => JsonValue;

/** As `columnDefinitions` carries it. */
export type ColumnDefinition = {
  name: string;
  type: string;
  format: string;
  description: string;
  /** 0: always shown, 1: in wide output only. */
  priority: number;
};

export type Column = { readonly definition: ColumnDefinition; readonly cell: Cell };
export type RowCondition = { type: string; status: string; reason?: string; message?: string };

export type KindTable = {
  readonly columns: readonly Column[];
  readonly conditions?: (object: KubeObject) => RowCondition[];
};

/** The tables of an area, by `group/plural`; the core group has nothing before the slash. */
export type KindTables = Readonly<Record<string, KindTable>>;

export function column(name: string, cell: Cell, more: Partial<ColumnDefinition> = {}): Column {
  return { definition: { name, type: 'string', format: '', description: '', priority: 0, ...more }, cell };
}

/** Shown with `-o wide` only. */
export function wideColumn(name: string, cell: Cell): Column {
  return column(name, cell, { priority: 1 });
}

export function integerColumn(name: string, cell: Cell): Column {
  return column(name, cell, { type: 'integer' });
}

export function booleanColumn(name: string, cell: Cell): Column {
  return column(name, cell, { type: 'boolean' });
}

export const nameColumn: Column = column('Name', (object) => object.metadata.name ?? '', {
  format: 'name',
  description: 'The name of the object, unique among its kind within its namespace.',
});

/** For what has a name of another kind of object. */
export const plainNameColumn: Column = { ...nameColumn, definition: { ...nameColumn.definition, format: '' } };

export const ageColumn: Column = column('Age', (object, { nowMs }) => age(object.metadata.creationTimestamp, nowMs), {
  description: 'How long ago the object was created.',
});

/** `Name`, what is given, `Age`. */
export function withNameAndAge(...columns: Column[]): KindTable {
  return { columns: [nameColumn, ...columns, ageColumn] };
}

/** What built-in kinds without a table of their own show. */
export const genericTable: KindTable = {
  columns: [
    nameColumn,
    column('Created At', (object) => object.metadata.creationTimestamp ?? null, {
      type: 'date',
      description: 'When the object was created.',
    }),
  ],
};

export function get(value: unknown, ...path: (string | number)[]): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

export function text(value: unknown, ...path: (string | number)[]): string {
  const found = get(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** A string, or a number as text: what an int-or-string holds. */
export function scalarText(value: unknown, ...path: (string | number)[]): string {
  const found = get(value, ...path);
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'bigint' ? String(found) : '';
}

export function number(value: unknown, ...path: (string | number)[]): number {
  const found = get(value, ...path);
  return typeof found === 'number' || typeof found === 'bigint' ? Number(found) : 0;
}

export function flag(value: unknown, ...path: (string | number)[]): boolean {
  return get(value, ...path) === true;
}

export function list(value: unknown, ...path: (string | number)[]): readonly unknown[] {
  const found = get(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function texts(value: unknown, ...path: (string | number)[]): string[] {
  return list(value, ...path).filter((found) => typeof found === 'string');
}

/** The entries of a map, sorted by key. */
export function entries(value: unknown, ...path: (string | number)[]): [key: string, value: unknown][] {
  const found = get(value, ...path);
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return [];
  return Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** `a=b,c=d`, or `<none>`. */
export function labelsText(value: unknown, ...path: (string | number)[]): string {
  const shown = entries(value, ...path).map(([key, label]) => `${key}=${String(label)}`);
  return shown.join(',') || '<none>';
}

export function age(time: unknown, nowMs: number): string {
  return humanAge(typeof time === 'string' ? time : undefined, nowMs);
}

/** True if a condition of that type has the status `True`. */
export function hasCondition(object: unknown, type: string): boolean {
  return findCondition(object, type)?.status === 'True';
}

export function findCondition(object: unknown, type: string): { status: string; reason: string } | undefined {
  const found = list(object, 'status', 'conditions').find((condition) => text(condition, 'type') === type);
  return found === undefined ? undefined : { status: text(found, 'status'), reason: text(found, 'reason') };
}

/** The first few of a long list, and how many were left out. */
export function firstOf(shown: readonly string[], limit: number, separator = ','): string {
  const head = shown.slice(0, limit).join(separator);
  return shown.length > limit ? `${head} + ${shown.length - limit} more...` : head;
}
