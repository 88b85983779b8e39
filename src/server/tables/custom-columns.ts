/**
 * The table of a custom resource: the columns its definition declares, or name and age where it declares none.
 *
 * A column that finds nothing, or takes too many steps with those before it, shows `null`. Of several values the first counts. A value keeps its JSON type where the
 * column has that type, and is `null` where it does not fit; a column of strings shows anything as text.
 */
import type { JsonValue } from '../../api/json.ts';
import { jsonText } from '../../api/json-text.ts';
import { humanAge } from '../../api/scalars/durations.ts';
import type { PrinterColumn } from '../registry/custom-kind.ts';
import { ageColumn, type Column, column, type KindTable, nameColumn } from './columns.ts';
import { compileJsonPath, type JsonPath } from './json-path.ts';

const defaultTable: KindTable = {
  columns: [nameColumn, { ...ageColumn, definition: { ...ageColumn.definition, type: 'date' } }],
};
const compiled = new WeakMap<readonly PrinterColumn[], KindTable>();

/** Compiled once for each list of columns. */
export function customTable(columns: readonly PrinterColumn[] | undefined): KindTable {
  if (!columns || columns.length === 0) return defaultTable;
  let table = compiled.get(columns);
  if (!table) {
    table = { columns: [nameColumn, ...columns.map(customColumn)] };
    compiled.set(columns, table);
  }
  return table;
}

function customColumn({ name, type, jsonPath, format = '', description, priority = 0 }: PrinterColumn): Column {
  const find = compileOrNothing(jsonPath);
  const definition = {
    type,
    format,
    priority,
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
  };
  return column(
    name,
    (object, { nowMs, steps }) => {
      const [value] = find(object, steps);
      return value === undefined || value === null ? null : cellOf(type, value, nowMs);
    },
    definition,
  );
}

function cellOf(type: string, value: JsonValue, nowMs: number): JsonValue {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : jsonText(value);
    case 'integer':
      return typeof value === 'bigint' ? value : typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? humanAge(value, nowMs) : null;
    default:
      return null;
  }
}

/** Definitions are checked when they are created; one that slipped through must not take the list down. */
function compileOrNothing(path: string): JsonPath {
  try {
    return compileJsonPath(path);
  } catch {
    return () => [];
  }
}
