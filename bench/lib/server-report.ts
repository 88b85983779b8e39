/**
 * What comes out of the benchmarks of the server: one row per figure, beside bare Node where that can do the same.
 *
 * A ratio says how much of bare Node's figure the server reaches, best round against best round, since noise only makes
 * things dearer; that of the medians stands beside it. A target that is a value of its own is judged on the median
 * round.
 */
import type { Context } from './contenders.ts';
import { median } from './measure.ts';
import type { Phase } from './server-process.ts';
import { printTable, show } from './table.ts';

export type ServerContext = Context & {
  /** Where profiles of every measured phase go. */
  readonly profileFolder: string | undefined;
};

export type TimeLimit = {
  readonly usual: number;
  /** With `--whole`. */
  readonly whole: number;
};

export type ServerBenchmark = {
  readonly name: string;
  /** Where it takes longer than others. */
  readonly limitSeconds?: TimeLimit;
  readonly run: (context: ServerContext) => Promise<ServerRow[]>;
};

export type ServerRow = {
  readonly what: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** One value per round. */
  readonly server: readonly number[];
  readonly bare?: readonly number[];
  /** `ratio`: at least so much of bare Node's. `value`: at least, or if lower is better at most, so much. */
  readonly target?: { readonly ratio: number } | { readonly value: number };
  readonly note?: string;
  /** The rounds the figure was taken from, where it comes from a measured phase. */
  readonly phases?: { readonly server: readonly Phase[]; readonly bare?: readonly Phase[] };
};

export type JudgedServerRow = ServerRow & {
  readonly ratio?: number;
  readonly ratioOfMedians?: number;
  readonly verdict?: string;
};

type Phases = NonNullable<ServerRow['phases']>;
type More = Partial<Pick<ServerRow, 'target' | 'note' | 'better'>>;

/** A figure of measured phases, as `pick` reads it. */
export function phaseRow(what: string, unit: string, phases: Phases, pick: (phase: Phase) => number, more: More = {}) {
  const { server, bare } = phases;
  return valueRow(what, unit, server.map(pick), { ...more, phases, ...(bare && { bare: bare.map(pick) }) });
}

export function valueRow(
  what: string,
  unit: string,
  server: readonly number[],
  more: More & Pick<ServerRow, 'bare' | 'phases'> = {},
): ServerRow {
  return { what, unit, better: 'lower', server, ...more };
}

/** Operations per second of the measured process's CPU time. */
export function perCpuSecond({ cpuMicrosPerOperation }: Phase): number {
  return 1e6 / cpuMicrosPerOperation;
}

export function judgeServer(row: ServerRow): JudgedServerRow {
  const { server, bare, better, target } = row;
  const over = (a: number, b: number) => (better === 'higher' ? a / b : b / a);
  const ratios = bare && {
    ratio: over(best(server, better), best(bare, better)),
    ratioOfMedians: over(median(server), median(bare)),
  };
  if (!target) return { ...row, ...ratios };
  if ('value' in target) return { ...row, ...ratios, verdict: verdictOf(over(median(server), target.value)) };
  return ratios ? { ...row, ...ratios, verdict: verdictOf(ratios.ratio / target.ratio) } : row;
}

export function printServerTables(rows: readonly JudgedServerRow[]): void {
  printTable(
    ['what', 'unit', 'server', 'bare Node', 'ratio', 'target', 'verdict', 'note'],
    rows.map((row) => [
      row.what,
      row.unit,
      showValues(row.server, row.better),
      row.bare ? showValues(row.bare, row.better) : '',
      row.ratio ? `${show(row.ratio)} (${show(row.ratioOfMedians!)})` : '',
      showTarget(row),
      row.verdict ?? '',
      row.note ?? '',
    ]),
  );
  const seen = new Set<Phases>();
  const body = rows.flatMap(({ what, phases }) => {
    if (!phases || seen.has(phases)) return [];
    seen.add(phases);
    const { server, bare } = phases;
    return [['server', server] as const, ['bare', bare] as const].flatMap(([name, rounds]) =>
      rounds ? [[what, name, ...showPhases(rounds)]] : [],
    );
  });
  if (body.length === 0) return;
  console.log(
    '\nThe phases behind them, median of the rounds: CPU of the measured process, rate and latency at the client',
  );
  console.log('(which shares the machine), delay of the measured event loop\n');
  printTable(['what', 'of', 'CPU µs', 'per s', 'p50 ms', 'p99 ms', 'loop p99 ms', 'max ms'], body);
}

function showPhases(rounds: readonly Phase[]): string[] {
  const of = (pick: (phase: Phase) => number) => show(median(rounds.map(pick)));
  return [
    of((phase) => phase.cpuMicrosPerOperation),
    of((phase) => phase.perSecond),
    of((phase) => phase.p50Ms),
    of((phase) => phase.p99Ms),
    of((phase) => phase.loop.p99Ms),
    show(Math.max(...rounds.map((phase) => phase.loop.maxMs))),
  ];
}

function best(values: readonly number[], better: ServerRow['better']): number {
  return better === 'higher' ? Math.max(...values) : Math.min(...values);
}

function verdictOf(share: number): string {
  return share >= 1 ? 'met' : `short by ${Math.ceil((1 - share) * 100)} %`;
}

function showValues(values: readonly number[], better: ServerRow['better']): string {
  return values.length === 1 ? show(values[0]!) : `${show(best(values, better))} (${show(median(values))})`;
}

function showTarget({ target, better }: ServerRow): string {
  if (!target) return '';
  if ('ratio' in target) return `≥ ${target.ratio}×`;
  return `${better === 'higher' ? '≥' : '≤'} ${show(target.value)}`;
}
