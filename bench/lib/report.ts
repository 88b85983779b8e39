/**
 * What comes out: one row per figure, judged against its target, as tables for people or as JSON for programs.
 *
 * A target that is a ratio is judged on best against best, since noise only ever slows a round down; one that is a
 * value of its own on the median round. Both figures are shown.
 */
import { median, type Run } from './measure.ts';
import { printTable, show } from './table.ts';

/** The figures of all rounds of one contender; `runs` where the figure is the rate of a measured phase. */
export type Series = { readonly values: readonly number[]; readonly runs: readonly Run[] };

export type Row = {
  readonly what: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly embedded: Series;
  readonly etcd?: Series;
  /** `ratio`: at least so many times as good as etcd. `value`: at least, or if lower is better at most, so much. */
  readonly target?: { readonly ratio: number } | { readonly value: number };
  readonly note?: string;
};

export type Judged = Row & { readonly ratio?: number; readonly ratioOfMedians?: number; readonly verdict?: string };

const LOOP_TARGET_MS = 20;
/** The unit of a figure that sets one of a contender's figures against another. */
export const SHARE = '×';

/** A rate, of both contenders or of one. */
export function rateRow(
  what: string,
  unit: string,
  { embedded, etcd }: { readonly embedded: readonly Run[]; readonly etcd?: readonly Run[] | undefined },
  more: Pick<Row, 'target' | 'note'> = {},
): Row {
  const series = (runs: readonly Run[]) => ({ values: runs.map((run) => run.perSecond), runs });
  return { what, unit, better: 'higher', embedded: series(embedded), ...(etcd && { etcd: series(etcd) }), ...more };
}

/** A figure that is not a rate, one value per round. */
export function valueRow(
  what: string,
  unit: string,
  values: readonly number[],
  more: Partial<Pick<Row, 'target' | 'note' | 'better' | 'etcd'>> = {},
): Row {
  return { what, unit, better: 'lower', embedded: { values, runs: [] }, ...more };
}

export function judge(row: Row): Judged {
  const { embedded, etcd, better, target, unit } = row;
  const isHigherBetter = better === 'higher';
  const over = (a: number, b: number) => (isHigherBetter ? a / b : b / a);
  // A share is a ratio already: that of two of them would say nothing.
  const ratios = etcd &&
    unit !== SHARE && {
      ratio: over(best(embedded, better), best(etcd, better)),
      ratioOfMedians: over(median(embedded.values), median(etcd.values)),
    };
  if (!target) return { ...row, ...ratios };
  if ('value' in target) return { ...row, ...ratios, verdict: verdictOf(over(median(embedded.values), target.value)) };
  return ratios ? { ...row, ...ratios, verdict: verdictOf(ratios.ratio / target.ratio) } : row;
}

export function printTables(rows: readonly Judged[]): void {
  printTable(
    ['what', 'unit', 'embedded', 'etcd over gRPC', 'ratio', 'target', 'verdict', 'note'],
    rows.map((row) => [
      row.what,
      row.unit,
      showSeries(row.embedded, row.better),
      row.etcd ? showSeries(row.etcd, row.better) : '',
      row.ratio ? `${show(row.ratio)} (${show(row.ratioOfMedians!)})` : '',
      showTarget(row),
      row.verdict ?? '',
      row.note ?? '',
    ]),
  );
  const phases = rows.filter((row) => row.embedded.runs.length > 0);
  console.log('\nCPU of this process per operation, and latency of one operation (median of the rounds)\n');
  printTable(
    ['what', 'embedded µs', 'p50 ms', 'p99 ms', 'etcd client µs', 'p50 ms', 'p99 ms'],
    phases.map(({ what, embedded, etcd }) => [what, ...showCost(embedded), ...(etcd ? showCost(etcd) : ['', '', ''])]),
  );
  console.log(`\nDelay of the event loop: p99 of the median round (at most ${LOOP_TARGET_MS} ms), max of all rounds\n`);
  printTable(
    ['while', 'embedded p99 ms', 'max ms', 'verdict', 'etcd client p99 ms', 'max ms'],
    phases.map(({ what, embedded, etcd }) => {
      const { p99Ms, maxMs } = loopOf(embedded);
      const other = etcd && loopOf(etcd);
      const verdict = verdictOf(LOOP_TARGET_MS / Math.max(p99Ms, 0.01));
      return [what, show(p99Ms), show(maxMs), verdict, other ? show(other.p99Ms) : '', other ? show(other.maxMs) : ''];
    }),
  );
}

function best({ values }: Series, better: Row['better']): number {
  return better === 'higher' ? Math.max(...values) : Math.min(...values);
}

function verdictOf(share: number): string {
  return share >= 1 ? 'met' : `short by ${Math.ceil((1 - share) * 100)} %`;
}

function loopOf({ runs }: Series): { p99Ms: number; maxMs: number } {
  return { p99Ms: median(runs.map((run) => run.loop.p99Ms)), maxMs: Math.max(...runs.map((run) => run.loop.maxMs)) };
}

function showSeries(series: Series, better: Row['better']): string {
  const { values } = series;
  return values.length === 1 ? show(values[0]!) : `${show(best(series, better))} (${show(median(values))})`;
}

function showCost({ runs }: Series): string[] {
  const of = (pick: (run: Run) => number) => show(median(runs.map(pick)));
  return [of((run) => run.cpuMicrosPerOperation), of((run) => run.p50Ms), of((run) => run.p99Ms)];
}

function showTarget({ target, better }: Row): string {
  if (!target) return '';
  if ('ratio' in target) return `≥ ${target.ratio}×`;
  return `${better === 'higher' ? '≥' : '≤'} ${show(target.value)}`;
}
