/**
 * What comes out of the benchmarks of the client: one row per figure, Longwatch beside `@kubernetes/client-node`.
 *
 * A ratio says how many times as good Longwatch's figure is, best round against best round, since noise only makes
 * things dearer; that of the medians stands beside it. A target that is a value of its own is judged on the median round.
 */
import { median } from '../lib/measure.ts';
import type { ServerContext } from '../lib/server-report.ts';
import { printTable, show } from '../lib/table.ts';

export type ClientBenchmark = {
  readonly name: string;
  readonly run: (context: ServerContext) => Promise<ClientRow[]>;
};

export type ClientRow = {
  readonly what: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** One value per round. */
  readonly longwatch: readonly number[];
  readonly clientNode?: readonly number[];
  /** `ratio`: at least so many times as good as client-node. `value`: at least, or if lower is better at most, so much. */
  readonly target?: { readonly ratio: number } | { readonly value: number };
  readonly note?: string;
};

export type JudgedClientRow = ClientRow & {
  readonly ratio?: number;
  readonly ratioOfMedians?: number;
  readonly verdict?: string;
};

export function judgeClient(row: ClientRow): JudgedClientRow {
  const { longwatch, clientNode, better, target } = row;
  const over = (a: number, b: number) => (better === 'higher' ? a / b : b / a);
  const ratios = clientNode && {
    ratio: over(best(longwatch, better), best(clientNode, better)),
    ratioOfMedians: over(median(longwatch), median(clientNode)),
  };
  if (!target) return { ...row, ...ratios };
  if ('value' in target) return { ...row, ...ratios, verdict: verdictOf(over(median(longwatch), target.value)) };
  return ratios ? { ...row, ...ratios, verdict: verdictOf(ratios.ratio / target.ratio) } : row;
}

export function printClientTable(rows: readonly JudgedClientRow[]): void {
  printTable(
    ['what', 'unit', 'longwatch', 'client-node', 'ratio', 'target', 'verdict', 'note'],
    rows.map((row) => [
      row.what,
      row.unit,
      showValues(row.longwatch, row.better),
      row.clientNode ? showValues(row.clientNode, row.better) : '',
      Number.isFinite(row.ratio) ? `${show(row.ratio!)} (${show(row.ratioOfMedians!)})` : '', // of 0 ms there is none
      showTarget(row),
      row.verdict ?? '',
      row.note ?? '',
    ]),
  );
}

function best(values: readonly number[], better: ClientRow['better']): number {
  return better === 'higher' ? Math.max(...values) : Math.min(...values);
}

function verdictOf(share: number): string {
  return share >= 1 ? 'met' : `short by ${Math.ceil((1 - share) * 100)} %`;
}

function showValues(values: readonly number[], better: ClientRow['better']): string {
  return values.length === 1 ? show(values[0]!) : `${show(best(values, better))} (${show(median(values))})`;
}

function showTarget({ target, better }: ClientRow): string {
  if (!target) return '';
  if ('ratio' in target) return `≥ ${target.ratio}×`;
  return `${better === 'higher' ? '≥' : '≤'} ${show(target.value)}`;
}
