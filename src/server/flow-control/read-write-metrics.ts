/**
 * Reads and writes apart, all levels together: how many wait and how many run, as kube-apiserver's two gauges and its
 * histogram over time tell it.
 *
 * Always true: plain numbers while requests pass; the gauges tell what was highest in the last second.
 */
import type { Metrics } from '../metrics/metrics.ts';
import { TimedRatio } from '../metrics/plain-histogram.ts';
import { SecondPeak } from '../metrics/second-peak.ts';
import type { RequestKind } from '../request/request-kind.ts';
import type { FlowRequest } from './fair-queuing/flow-request.ts';

const BOUNDS = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const KINDS: readonly RequestKind[] = ['mutating', 'readOnly'];
const READS = new Set(['get', 'list', 'watch']);

type Phase = 'waiting' | 'executing';

export class ReadWriteMetrics {
  readonly #counts: Record<Phase, Record<RequestKind, { count: number; readonly over: TimedRatio }>>;
  readonly #waitingPeaks: Record<RequestKind, SecondPeak>;

  /** `now` in seconds. */
  constructor(now: () => number) {
    const counted = () => ({ count: 0, over: new TimedRatio(BOUNDS, 1, now) });
    const both = () => ({ mutating: counted(), readOnly: counted() });
    this.#counts = { waiting: both(), executing: both() };
    this.#waitingPeaks = { mutating: new SecondPeak(now), readOnly: new SecondPeak(now) };
  }

  change(request: FlowRequest, phase: Phase, by: 1 | -1, now: number): void {
    const kind = kindOf(request);
    const counted = this.#counts[phase][kind];
    counted.count += by;
    counted.over.set(counted.count, 1, now);
    if (phase === 'waiting') this.#waitingPeaks[kind].change(by);
  }

  addTo(metrics: Metrics): void {
    metrics.collected({
      name: 'apiserver_current_inqueue_requests',
      help: 'Most requests that waited during the last second, by their kind.',
      type: 'gauge',
      samples: () =>
        KINDS.map((kind) => ({ labels: { request_kind: kind }, value: this.#waitingPeaks[kind].lastSecond })),
    });
    metrics.collected({
      name: 'apiserver_flowcontrol_read_vs_write_current_requests',
      help: 'Requests that wait and that run, by their kind, over time.',
      type: 'histogram',
      samples: () =>
        (['waiting', 'executing'] as const).flatMap((phase) =>
          KINDS.flatMap((kind) => [...this.#counts[phase][kind].over.samples({ phase, request_kind: kind })]),
        ),
    });
  }
}

function kindOf({ about }: FlowRequest): RequestKind {
  return about && !READS.has(about.attributes.verb) ? 'mutating' : 'readOnly';
}
