/**
 * Objects as a Table, the form in which kubectl asks for them: columns, and a row of cells for each object.
 *
 * Pure: time comes in as `now`. Cells are in the order of the columns, and objects in the order given. A row carries
 * its object as the client asked: the metadata, all of it, or nothing.
 */

import { fieldErrorText, invalidValue } from '../../api/errors/field-error.ts';
import { badRequest } from '../../api/errors/status-error.ts';
import type { JsonValue } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { PrinterColumn } from '../registry/custom-kind.ts';
import type { Resource } from '../registry/resource.ts';
import { administrationTables } from './administration.ts';
import { type ColumnDefinition, genericTable, type KindTable, type RowCondition } from './columns.ts';
import { coreTables } from './core.ts';
import { customTable } from './custom-columns.ts';
import { PathSteps } from './json-path.ts';
import { networkTables } from './network.ts';
import { type ListMeta, type MetaVersion, type PartialObjectMetadata, partialObject } from './partial-metadata.ts';
import { storageTables } from './storage.ts';
import { workloadTables } from './workloads.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export type TableRow = {
  cells: JsonValue[];
  conditions?: RowCondition[];
  object: KubeObject | PartialObjectMetadata | null;
};

export type Table = {
  kind: 'Table';
  apiVersion: string;
  metadata: ListMeta;
  columnDefinitions: ColumnDefinition[] | null;
  rows: TableRow[];
};

export type TableOptions = {
  readonly includeObject?: IncludeObject;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Of the list; for a single object its resourceVersion. */
  readonly listMeta: ListMeta;
  /** Of the custom resource's version. */
  readonly printerColumns?: readonly PrinterColumn[];
  /** False: `columnDefinitions` is null, as in every event of a watch but the first. */
  readonly hasColumns?: boolean;
  readonly version?: MetaVersion;
};

export type TableResource = Pick<Resource, 'group' | 'plural' | 'isCustom'>;

export function tableFor(resource: TableResource, items: readonly KubeObject[], options: TableOptions): Table {
  const { table, rowOf } = tableParts(resource, options);
  return { ...table, rows: items.map(rowOf) };
}

/** A table without rows, and how they are made: for who makes them one at a time. */
export function tableParts(
  resource: TableResource,
  options: TableOptions,
): { readonly table: Table; readonly rowOf: (item: KubeObject) => TableRow } {
  const { includeObject = 'Metadata', now, listMeta, printerColumns, hasColumns = true, version = 'v1' } = options;
  const kind = kindTable(resource, printerColumns);
  const rowOf = (item: KubeObject): TableRow => {
    const context = { nowMs: now, steps: new PathSteps() };
    const conditions = kind.conditions?.(item) ?? [];
    return {
      cells: kind.columns.map(({ cell }) => cell(item, context)),
      ...(conditions.length > 0 && { conditions }),
      object: objectOf(item, includeObject, version),
    };
  };
  return { table: emptyTable(kind, listMeta, hasColumns, version), rowOf };
}

/** A bookmark of a watch: one row with nothing in its cells, whose object carries the version. */
export function bookmarkTable(resource: TableResource, bookmark: KubeObject, options: TableOptions): Table {
  const { includeObject = 'Metadata', listMeta, printerColumns, hasColumns = true, version = 'v1' } = options;
  const table = kindTable(resource, printerColumns);
  return {
    ...emptyTable(table, listMeta, hasColumns, version),
    rows: [{ cells: table.columns.map(() => ''), object: objectOf(bookmark, includeObject, version) }],
  };
}

/** From the query parameter; a BadRequest if it is none of the three. */
export function parseIncludeObject(value: string | null): IncludeObject {
  if (value === null || value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const problem = invalidValue('includeObject', value, "must be 'Metadata', 'Object', 'None', or empty");
  throw badRequest(`Unable to convert to Table as requested: ${fieldErrorText(problem)}`);
}

const tables: ReadonlyMap<string, KindTable> = new Map(
  [workloadTables, networkTables, coreTables, storageTables, administrationTables].flatMap((area) =>
    Object.entries(area),
  ),
);

function kindTable(
  { group, plural, isCustom }: TableResource,
  columns: readonly PrinterColumn[] | undefined,
): KindTable {
  if (isCustom) return customTable(columns);
  return tables.get(`${group}/${plural}`) ?? genericTable;
}

function emptyTable(table: KindTable, metadata: ListMeta, hasColumns: boolean, version: MetaVersion): Table {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: hasColumns ? table.columns.map(({ definition }) => definition) : null,
    rows: [],
  };
}

function objectOf(item: KubeObject, includeObject: IncludeObject, version: MetaVersion): TableRow['object'] {
  switch (includeObject) {
    case 'None':
      return null;
    case 'Object':
      return item;
    case 'Metadata':
      return partialObject(item, version);
  }
}
