/** A history as a Table: not one row for the object, as other kinds have it, but one for each of its revisions. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { humanAge } from '../../../api/scalars/durations.ts';
import { type MetaVersion, partialObject } from '../../tables/partial-metadata.ts';
import { parseIncludeObject } from '../../tables/table.ts';
import type { ShownRevision } from './history-revisions.ts';

const MAX_FIELDS = 5;

const COLUMNS = [
  { name: 'Revision', type: 'integer', description: 'The revision of the store.' },
  { name: 'Age', type: 'string', description: 'How long ago it was.' },
  { name: 'Change', type: 'string', description: 'Created, Updated, Deleted; Kept: what it changed is not known.' },
  { name: 'Manager', type: 'string', description: 'The field manager that wrote it.' },
  { name: 'User', type: 'string', description: 'Who wrote it, if through this server and lately.' },
  { name: 'Fields', type: 'string', description: 'What it changed.' },
  { name: 'Bytes', type: 'integer', description: 'How large the object was.', priority: 1 },
] as const;

export function historyTable(
  history: JsonObject,
  shown: readonly ShownRevision[],
  query: URLSearchParams,
  version: MetaVersion,
): JsonObject {
  const nowMs = Date.now();
  const includes = parseIncludeObject(query.get('includeObject'));
  const object = history as unknown as KubeObject;
  const { resourceVersion = '' } = object.metadata;
  const rowObject = includes === 'None' ? null : includes === 'Object' ? object : partialObject(object, version);
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: { resourceVersion },
    columnDefinitions: COLUMNS.map((definition) => ({ format: '', priority: 0, ...definition })),
    rows: shown.map((one) => ({ cells: cellsOf(one, nowMs), object: rowObject as unknown as JsonObject })),
  };
}

function cellsOf(one: ShownRevision, nowMs: number): (string | number)[] {
  const { revision, time, change, manager = '', user = '', changed, changedCount, bytes } = one;
  const fields = changed.slice(0, MAX_FIELDS);
  const more = changedCount > fields.length ? [`… ${changedCount - fields.length} more`] : [];
  const age = time === undefined ? '<unknown>' : humanAge(time, nowMs);
  return [revision, age, change, manager, user, [...fields, ...more].join(', '), bytes];
}
