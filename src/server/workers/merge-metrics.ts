/**
 * The figures of several threads as those of one server: counters and histograms are added up, and so is what each thread
 * has of its own; what all of them see of the same thing is told once. Others have their turn in between: there may be a hundred
 * thousand lines.
 */
import { WorkSlices } from '../event-loop/work-slices.ts';

/** Gauges, and one counter, of what is there once however many look at it. Beginnings of names. */
const SEEN_BY_ALL = [
  'process_',
  'nodejs_eventloop_utilization',
  'apiserver_storage_objects',
  'apiserver_storage_size_bytes',
  'apiserver_resource_',
  'apiserver_watch_cache_resource_version',
  'apiserver_watch_cache_capacity ',
  'apiserver_watch_cache_capacity{',
  'aggregator_unavailable_apiservice ',
  'aggregator_unavailable_apiservice{',
  'etcd_',
  'apiserver_flowcontrol_seat_fair_frac',
  'apiserver_flowcontrol_nominal_limit_seats',
  'apiserver_flowcontrol_lower_limit_seats',
  'apiserver_flowcontrol_upper_limit_seats',
  'apiserver_flowcontrol_current_limit_seats',
  'apiserver_flowcontrol_demand_seats_high_watermark',
  'apiserver_flowcontrol_demand_seats_average',
  'apiserver_flowcontrol_demand_seats_stdev',
  'apiserver_flowcontrol_demand_seats_smoothed',
  'apiserver_flowcontrol_target_seats',
  'apiserver_flowcontrol_current_r',
  'apiserver_flowcontrol_dispatch_r',
  'apiserver_flowcontrol_latest_s',
  'apiserver_flowcontrol_next_',
];

type Family = { readonly head: string[]; readonly series: Map<string, number> };
type Families = Map<string, Family>;

/** About a millisecond. */
const LINES_AT_ONCE = 1000;

/** In the text form of Prometheus; families and series in the order in which they are first met. */
export async function mergeMetrics(texts: readonly string[]): Promise<string> {
  const slices = new WorkSlices();
  const families: Families = new Map();
  for (const text of texts) {
    const lines = text.split('\n');
    let family: Family | undefined;
    for (let from = 0; from < lines.length; from += LINES_AT_ONCE) {
      family = addLines(families, family, lines.slice(from, from + LINES_AT_ONCE));
      if (slices.isOver) await slices.pause();
    }
  }
  const merged: string[] = [];
  for (const family of families.values()) {
    write(family, merged);
    if (slices.isOver) await slices.pause();
  }
  return `${merged.join('\n')}\n`;
}

/** `family`: to which lines belong until another one begins; answers that of the last. */
function addLines(families: Families, family: Family | undefined, lines: readonly string[]): Family | undefined {
  let current = family;
  for (const line of lines) {
    if (line === '') continue;
    if (line.startsWith('#')) {
      const [, , name = ''] = line.split(' ', 3);
      current = families.get(name) ?? { head: [], series: new Map() };
      families.set(name, current);
      if (!current.head.includes(line)) current.head.push(line);
    } else if (current) add(current, line);
  }
  return current;
}

function write({ head, series }: Family, lines: string[]): void {
  lines.push(...head);
  for (const [name, value] of series) lines.push(`${name} ${textOf(value)}`);
}

function add({ series }: Family, line: string): void {
  const end = line.lastIndexOf(' ');
  const name = line.slice(0, end);
  const value = Number(line.slice(end + 1).replace('Inf', 'Infinity'));
  const before = series.get(name);
  if (before === undefined) series.set(name, value);
  else series.set(name, SEEN_BY_ALL.some((start) => line.startsWith(start)) ? Math.max(before, value) : before + value);
}

function textOf(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
