/**
 * `node scripts/generate-grafana.mjs`: the Grafana dashboard, from a list of what is worth a plot. Names are checked against
 * a running server by `test/e2e/cli/deploy.test.ts`.
 */
import '../bin/node-version.cjs';
import { writeGenerated } from './generated-file.mjs';

const BY_RESOURCE = 'sum by (resource)';
const quantile = (q, metric, by) =>
  `histogram_quantile(${q}, sum by (${by}, le) (rate(${metric}_bucket{$of}[$every])))`;

/** Rows of panels: title, unit, queries by legend. `$of` is the server that is chosen, `$every` the time of a rate. */
const ROWS = {
  Watches: [
    ['Open watches', 'short', { '{{state}}': 'sum by (state) (longwatch_watchers{$of})' }],
    ['Lag, 99 of 100', 's', { '{{resource}}': quantile(0.99, 'longwatch_watch_lag_seconds', 'resource') }],
    ['A second or more behind', 'short', { '{{resource}}': `${BY_RESOURCE} (longwatch_slow_watchers{$of})` }],
    ['Events sent', 'ops', { '{{resource}}': `${BY_RESOURCE} (rate(longwatch_watch_sent_events_total{$of}[$every]))` }],
    ['Bytes sent', 'Bps', { '{{resource}}': `${BY_RESOURCE} (rate(longwatch_watch_sent_bytes_total{$of}[$every]))` }],
    [
      'Bytes that clients have not read',
      'bytes',
      { '{{resource}}': `${BY_RESOURCE} (longwatch_watch_unread_bytes{$of})` },
    ],
    [
      'Why watches ended',
      'ops',
      { '{{reason}}': 'sum by (reason) (rate(longwatch_watches_ended_total{$of}[$every]))' },
    ],
    [
      '410s by reason',
      'ops',
      { '{{resource}} {{reason}}': 'sum by (resource, reason) (rate(longwatch_expirations_total{$of}[$every]))' },
    ],
  ],
  Requests: [
    ['By verb', 'reqps', { '{{verb}}': 'sum by (verb) (rate(apiserver_request_total{$of}[$every]))' }],
    [
      'Refused and failed',
      'reqps',
      { '{{code}}': 'sum by (code) (rate(apiserver_request_total{$of,code=~"[45].."}[$every]))' },
    ],
    ['99 of 100 within', 's', { '{{verb}}': quantile(0.99, 'apiserver_request_sli_duration_seconds', 'verb') }],
    ['In flight', 'short', { '{{request_kind}}': 'sum by (request_kind) (apiserver_current_inflight_requests{$of})' }],
  ],
  'Flow control': [
    [
      'Seats in use',
      'short',
      { '{{priority_level}}': 'sum by (priority_level) (apiserver_flowcontrol_current_executing_seats{$of})' },
    ],
    [
      'Waiting',
      'short',
      { '{{priority_level}}': 'sum by (priority_level) (apiserver_flowcontrol_current_inqueue_requests{$of})' },
    ],
    [
      'Sent away (429)',
      'reqps',
      {
        '{{priority_level}}':
          'sum by (priority_level) (rate(apiserver_flowcontrol_rejected_requests_total{$of}[$every]))',
      },
    ],
    [
      'Waited, 99 of 100',
      's',
      { '{{priority_level}}': quantile(0.99, 'apiserver_flowcontrol_request_wait_duration_seconds', 'priority_level') },
    ],
  ],
  'Caches and store': [
    ['Objects', 'short', { '{{resource}}': `${BY_RESOURCE} (apiserver_resource_objects{$of})` }],
    [
      'Events received by caches',
      'ops',
      { '{{resource}}': `${BY_RESOURCE} (rate(apiserver_watch_cache_events_received_total{$of}[$every]))` },
    ],
    [
      'Size of the store',
      'bytes',
      {
        file: 'max(apiserver_storage_size_bytes{$of})',
        'in use': 'max(etcd_mvcc_db_total_size_in_use_in_bytes{$of})',
      },
    ],
    ['Since the last compaction', 's', { age: 'time() - max(etcd_debugging_mvcc_db_compaction_last{$of})' }],
  ],
  Process: [
    ['CPU', 'percentunit', { cpu: 'rate(process_cpu_seconds_total{$of}[$every])' }],
    ['Event loop in use', 'percentunit', { loop: 'nodejs_eventloop_utilization{$of}' }],
    [
      'Memory',
      'bytes',
      {
        resident: 'process_resident_memory_bytes{$of}',
        heap: 'nodejs_heap_size_used_bytes{$of}',
        buffers: 'nodejs_external_memory_bytes{$of}',
      },
    ],
    [
      'Days until certificates end',
      'd',
      { '{{certificate}}': '(longwatch_certificate_expiry_timestamp_seconds{$of} - time()) / 86400' },
    ],
  ],
};

const [WIDTH, HEIGHT, PER_LINE] = [6, 7, 4];
const datasource = { type: 'prometheus', uid: '$datasource' };
const panels = [];
let y = 0;
for (const [title, plots] of Object.entries(ROWS)) {
  panels.push({
    id: panels.length + 1,
    type: 'row',
    title,
    collapsed: false,
    gridPos: { x: 0, y, w: 24, h: 1 },
    panels: [],
  });
  y++;
  for (const [index, [name, unit, queries]] of plots.entries()) {
    const place = { x: (index % PER_LINE) * WIDTH, y: y + Math.floor(index / PER_LINE) * HEIGHT, w: WIDTH, h: HEIGHT };
    const targets = Object.entries(queries).map(([legendFormat, expr], at) => ({
      refId: 'ABCDEF'[at],
      datasource,
      expr: expr.replaceAll('$of', 'instance=~"$instance"').replaceAll('$every', '$__rate_interval'),
      legendFormat,
    }));
    const fieldConfig = { defaults: { unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } }, overrides: [] };
    const options = { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } };
    panels.push({
      id: panels.length + 1,
      type: 'timeseries',
      title: name,
      datasource,
      gridPos: place,
      fieldConfig,
      options,
      targets,
    });
  }
  y += Math.ceil(plots.length / PER_LINE) * HEIGHT;
}

const dashboard = {
  title: 'Longwatch',
  uid: 'longwatch',
  description: 'Generated by scripts/generate-grafana.mjs: who watches, how far behind, what it costs.',
  tags: ['longwatch', 'kubernetes'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-1h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
      {
        name: 'instance',
        type: 'query',
        label: 'Server',
        datasource,
        query: { query: 'label_values(longwatch_watchers, instance)', refId: 'instance' },
        refresh: 2,
        includeAll: true,
        multi: true,
        current: { text: 'All', value: '$__all' },
      },
    ],
  },
  panels,
};
writeGenerated('deploy/grafana/generated/longwatch.json', `${JSON.stringify(dashboard, null, 2)}\n`);
