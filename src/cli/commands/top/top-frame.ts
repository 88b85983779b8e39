/** The screen as lines, from what was seen and what is being shown: nothing here reads a clock or a terminal. */
import type { WatchInfo } from '../../cluster/introspection.ts';
import { resourceOf } from '../../cluster/introspection.ts';
import { yamlOf } from '../../cluster/object-text.ts';
import { harmless, type Paint, plain } from '../../terminal/paint.ts';
import { showBytes, tableLines } from '../../terminal/table.ts';
import { sortWatches, watchRows } from '../inside/watches.ts';
import type { TopData } from './top-data.ts';
import type { TopState } from './top-state.ts';

export type Size = { readonly rows: number; readonly columns: number };

const CACHES = 5;
const LEVELS = 3;

/** Those the table shows, in its order. */
export function shownWatches({ watches }: TopData, { sort, filter }: TopState): WatchInfo[] {
  const wanted = filter.toLowerCase();
  const all = sortWatches(watches, sort);
  return wanted === '' ? all : all.filter((one) => textOf(one).includes(wanted));
}

export function frame(data: TopData, state: TopState, host: string, size: Size, paint: Paint): string[] {
  const lines =
    state.mode.kind === 'open' ? details(data, state.mode.name, paint) : overview(data, state, host, size, paint);
  return [...lines.slice(0, size.rows - 1), footer(state, paint)].map((line) => fitted(line, size.columns));
}

function overview(data: TopData, state: TopState, host: string, size: Size, paint: Paint): string[] {
  const { rates, caches, watches, levels } = data;
  const per = (value: number | undefined) => (value === undefined ? '-' : value.toFixed(value < 10 ? 1 : 0));
  const behind = watches.filter(({ status }) => status.state === 'Behind' || status.state === 'FromLog').length;
  const memory = caches.reduce((sum, { status }) => sum + status.memoryBytes, 0);
  const chain = [
    `store @${data.revision} ${per(rates?.revisions)}/s`,
    `caches ${caches.length}, ${per(rates?.received)} events/s, ${showBytes(memory)}`,
    `fan-out ${per(rates?.dispatched)} events/s, ${rates ? showBytes(Math.round(rates.bytes)) : '-'}/s`,
    `watches ${watches.length}${behind > 0 ? paint.yellow(`, ${behind} behind`) : ''}`,
  ];
  const busiest = [...caches].sort(
    (a, b) => b.status.eventsPerSecond - a.status.eventsPerSecond || b.status.watchers - a.status.watchers,
  );
  const cacheRows = busiest
    .slice(0, CACHES)
    .map(({ metadata, status }) => [
      metadata.name,
      String(status.objects),
      status.eventsPerSecond.toFixed(1),
      `${status.window.events}/${status.window.capacity}`,
      `${status.window.seconds ?? 0}s`,
      String(status.watchers),
      String(status.expired),
      showBytes(status.memoryBytes),
    ]);
  const busy = [...levels].sort(
    (a, b) => b.status.waiting - a.status.waiting || b.status.executing - a.status.executing,
  );
  const levelRows = busy
    .slice(0, LEVELS)
    .map(({ metadata, status }) => [
      metadata.name,
      `${status.seats.inUse}/${status.seats.limit ?? '-'}`,
      String(status.waiting),
      String(status.executing),
      String(status.rejected),
    ]);
  const shown = shownWatches(data, state);
  const [head, ...rows] = tableLines(watchRows(shown, true, data.at)) as [string, ...string[]];
  const selected = Math.min(state.selected, rows.length - 1);
  const above = [
    `${paint.bold('longwatch top')} ${host}   410s remembered: ${data.expired}`,
    chain.join(paint.dim(' -> ')),
    '',
    ...section(['CACHE', 'OBJECTS', 'EVENTS/S', 'WINDOW', 'BACK', 'WATCHERS', '410S', 'MEMORY'], cacheRows, paint),
    ...(levelRows.length > 0 ? section(['LEVEL', 'SEATS', 'WAITING', 'EXECUTING', 'REJECTED'], levelRows, paint) : []),
    paint.bold(plain(head)),
  ];
  // The table takes the rest, and moves with what is selected.
  const room = Math.max(1, size.rows - 1 - above.length);
  const from = Math.max(0, Math.min(selected - room + 1, rows.length - room));
  const visible = rows
    .slice(from, from + room)
    .map((row, i) => mark(row, shown[from + i]!, from + i === selected, paint));
  return [...above, ...(rows.length === 0 ? [paint.dim('no watches')] : visible)];
}

function section(head: readonly string[], rows: readonly string[][], paint: Paint): string[] {
  const [first, ...rest] = tableLines([head, ...rows]) as [string, ...string[]];
  return [paint.bold(first), ...rest, ''];
}

function mark(row: string, { status }: WatchInfo, isSelected: boolean, paint: Paint): string {
  const colour = status.state === 'Behind' || status.state === 'FromLog' ? paint.yellow : (text: string) => text;
  return `${isSelected ? paint.cyan('> ') : ''}${colour(row)}`;
}

function details({ watches }: TopData, name: string, paint: Paint): string[] {
  const found = watches.find(({ metadata }) => metadata.name === name);
  if (!found) return [paint.bold(name), '', 'This watch has ended.'];
  return [paint.bold(`${name}  (${resourceOf(found.spec)})`), '', ...yamlOf(found).split('\n').map(harmless)];
}

function footer({ mode, sort, filter, note }: TopState, paint: Paint): string {
  if (mode.kind === 'filter') return `filter: ${mode.typed}_   (Enter takes it, Esc does not)`;
  if (mode.kind === 'ending')
    return paint.red(`End ${mode.name}? Its client goes on where it was. y: yes, any other key: no`);
  if (mode.kind === 'open') return paint.dim('d end this watch   q quit   any other key: back');
  const keys = `q quit   s sort: ${sort}   / filter${filter === '' ? '' : `: ${filter}`}   up/down select   Enter open   d end`;
  return note === '' ? paint.dim(keys) : `${note}   ${paint.dim(keys)}`;
}

function textOf({ metadata, spec, status }: WatchInfo): string {
  const { user, userAgent = '', namespace = '', address = '' } = spec;
  return [metadata.name, user, userAgent, namespace, address, resourceOf(spec), status.state].join(' ').toLowerCase();
}

/** Colours take no room; a line that is cut loses them, so that none runs on. */
function fitted(line: string, columns: number): string {
  return plain(line).length <= columns ? line : plain(line).slice(0, Math.max(0, columns - 1));
}
