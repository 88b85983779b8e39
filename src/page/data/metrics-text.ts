/** The few figures of `/metrics` that the page shows, added up over the labels it does not. One pass over the text. */
export type MetricFigures = {
  readonly requests: number;
  readonly answers410: number;
  readonly answers429: number;
  readonly watchers: number | undefined;
  readonly compactRevision: number | undefined;
  readonly storeBytes: number | undefined;
};

const LINE = /^([a-z_]+)(?:\{(.*)\})? ([0-9.eE+-]+)$/;
const WANTED: ReadonlySet<string> = new Set([
  'apiserver_request_total',
  'apiserver_registered_watchers',
  'etcd_debugging_mvcc_compact_revision',
  'apiserver_storage_size_bytes',
]);

export function figuresIn(text: string): MetricFigures {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const end = line.search(/[ {]/);
    if (end === -1 || !WANTED.has(line.slice(0, end))) continue;
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
    const add = (key: string) => sums.set(key, (sums.get(key) ?? 0) + Number(value));
    add(name);
    const [, code] = /(?:^|,)code="(410|429)"/.exec(labels) ?? [];
    if (name === 'apiserver_request_total' && code !== undefined) add(code);
  }
  return {
    requests: sums.get('apiserver_request_total') ?? 0,
    answers410: sums.get('410') ?? 0,
    answers429: sums.get('429') ?? 0,
    watchers: sums.get('apiserver_registered_watchers'),
    compactRevision: sums.get('etcd_debugging_mvcc_compact_revision'),
    storeBytes: sums.get('apiserver_storage_size_bytes'),
  };
}
