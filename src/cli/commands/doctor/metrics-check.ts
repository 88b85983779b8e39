/**
 * What the server counts of itself, where this user may read `/metrics`: watchers it gave up on because they were slow, the
 * share of reads that found their history gone, the capacity of its watch caches, the last compaction of its store.
 */
import { isApiError } from '../../../client/index.ts';
import { type Finding, findingOf, ok, skipped } from './finding.ts';
import type { Patient } from './patient.ts';

/** Of reads that were answered 410, from which on it is worth a word; a few are everyday life. */
const EXPIRED_SHARE = 0.01;
const EXPIRED_LEAST = 10;

export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export async function* metricsCheck(patient: Patient): AsyncGenerator<Finding, void, void> {
  let text: string;
  try {
    ({ body: text } = await patient.ask<string>('GET', '/metrics'));
  } catch (err) {
    patient.options.signal.throwIfAborted();
    yield isApiError(err) && (err.code === 403 || err.code === 404)
      ? skipped('metrics', 'this user may not read them, or there are none')
      : findingOf('metrics', 'GET /metrics', err);
    return;
  }
  const samples = parseMetrics(String(text));
  const sum = (name: string, where: (labels: Sample['labels']) => boolean = () => true) =>
    samples.filter((one) => one.name === name && where(one.labels)).reduce((total, { value }) => total + value, 0);
  const slow = sum('apiserver_terminated_watchers_total');
  const isRead = ({ verb = '' }: Sample['labels']) => verb === 'WATCH' || verb === 'LIST';
  const reads = sum('apiserver_request_total', isRead);
  const expired = sum('apiserver_request_total', (labels) => isRead(labels) && labels.code === '410');
  const compactedAt = sum('etcd_debugging_mvcc_db_compaction_last');
  const data = { slowWatchers: slow, expired, reads, ...(compactedAt > 0 && { compactedAt }) };
  if (slow > 0)
    yield {
      check: 'metrics',
      level: 'warning',
      cause: 'slow-watchers',
      message: `${slow} watches were ended because their clients did not read fast enough`,
      remedy: 'Find clients with slow handlers; `longwatch watches` shows who is behind on a server of ours.',
      data,
    };
  if (expired >= EXPIRED_LEAST && expired > reads * EXPIRED_SHARE)
    yield {
      check: 'metrics',
      level: 'warning',
      cause: 'many-expired',
      message: `${expired} of ${reads} lists and watches were answered 410`,
      remedy:
        'Keep more history, and let clients use bookmarks; `longwatch why-gone last` explains one on a server of ours.',
      data,
    };
  else if (slow === 0)
    yield ok('metrics', `${expired} of ${reads} lists and watches were answered 410, no watch was given up`, data);
}

/** The text format of Prometheus, as far as it is needed: one sample a line. */
export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries(
      [...(match[2] ?? '').matchAll(/(?:^|,)(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', value = '']) => [
        key,
        value,
      ]),
    );
    samples.push({ name: match[1]!, labels, value: Number(match[3]) });
  }
  return samples;
}
