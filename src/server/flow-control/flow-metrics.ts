/**
 * What flow control does, in the metrics of kube-apiserver.
 *
 * Always true: counted in plain numbers while requests pass, made into text when somebody asks. Labels are the names of
 * levels and schemas, so their number is what is configured; a level that is gone takes its gauges with it, its counts
 * stay.
 */
import type { Metrics, Sample } from '../metrics/metrics.ts';
import { PlainHistogram, TimedRatio } from '../metrics/plain-histogram.ts';
import { EXEMPT } from './configuration/mandatory.ts';
import type { FlowRequest } from './fair-queuing/flow-request.ts';
import type { QueueSet, QueueSetObserver } from './fair-queuing/queue-set.ts';
import type { FlowController } from './flow-controller.ts';
import type { DropReason, FlowObserver } from './flow-observer.ts';
import type { LevelState } from './priority-level/level-state.ts';
import { ReadWriteMetrics } from './read-write-metrics.ts';

const PREFIX = 'apiserver_flowcontrol_';
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000];
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100];
const WATCHES = [0, 1, 10, 100, 1000, 10_000];
const UTILIZATION = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const REQUEST_UTILIZATION = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1];
const BOUNDS = ['min', 'max'] as const;
const DEMAND = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6];

/** Of one schema in one level. */
type FlowCounts = {
  readonly labels: { readonly priority_level: string; readonly flow_schema: string };
  readonly rejected: Map<DropReason, number>;
  dispatched: number;
  notAccommodated: number;
  waiting: number;
  waitingSeats: number;
  executing: number;
  executingSeats: number;
  readonly waitedToRun: PlainHistogram;
  readonly waitedInVain: PlainHistogram;
  readonly ran: { readonly regular: PlainHistogram; readonly watch: PlainHistogram };
  readonly queueLength: PlainHistogram;
  readonly seats: PlainHistogram;
  readonly watchCount: PlainHistogram;
};

type LevelTimes = {
  readonly seats: TimedRatio;
  readonly executing: TimedRatio;
  readonly waiting: TimedRatio;
  readonly demand: TimedRatio;
};

export class FlowMetrics implements FlowObserver {
  readonly #flows = new Map<string, Map<string, FlowCounts>>();
  readonly #times = new Map<string, LevelTimes>();
  readonly #readWrite: ReadWriteMetrics;
  readonly #now: () => number;
  readonly #idleWhole: number;

  /** `now` in seconds. */
  constructor(totalSeats: number, now: () => number) {
    this.#now = now;
    this.#readWrite = new ReadWriteMetrics(now);
    this.#idleWhole = Math.max(1, Math.round(totalSeats / 10));
  }

  ofLevel(levelName: string): QueueSetObserver {
    const flows = this.#flows.get(levelName) ?? new Map<string, FlowCounts>();
    this.#flows.set(levelName, flows);
    const now = this.#now;
    const whole = this.#idleWhole;
    const times: LevelTimes = {
      seats: new TimedRatio(UTILIZATION, whole, now),
      executing: new TimedRatio(REQUEST_UTILIZATION, whole, now),
      waiting: new TimedRatio(REQUEST_UTILIZATION, 1, now),
      demand: new TimedRatio(DEMAND, whole, now),
    };
    this.#times.set(levelName, times);
    const of = ({ schemaName }: FlowRequest) => flows.get(schemaName) ?? this.#countsOf(levelName, schemaName);
    const isExempt = levelName === EXEMPT; // nobody waits there
    const readWrite = this.#readWrite;
    return {
      enqueued(request, queueLength) {
        const counts = of(request);
        counts.waiting++;
        counts.waitingSeats += request.width;
        readWrite.change(request, 'waiting', 1, request.arrivedAt);
        counts.queueLength.observe(queueLength);
      },
      started(request) {
        const counts = of(request);
        counts.dispatched++;
        counts.executing++;
        counts.executingSeats += request.width;
        counts.seats.observe(request.width);
        readWrite.change(request, 'executing', 1, request.startedAt);
        if (!isExempt) counts.waitedToRun.observe(request.startedAt - request.arrivedAt);
      },
      dequeued(request, at) {
        const counts = of(request);
        readWrite.change(request, 'waiting', -1, at);
        counts.waiting--;
        counts.waitingSeats -= request.width;
      },
      ejected(request) {
        of(request).waitedToRun.observe(now() - request.arrivedAt); // as kube-apiserver counts it
      },
      finished(request, seconds) {
        const counts = of(request);
        counts.executing--;
        readWrite.change(request, 'executing', -1, request.startedAt + seconds);
        counts.ran[isWatch(request) ? 'watch' : 'regular'].observe(seconds);
      },
      freed(request) {
        of(request).executingSeats -= request.width;
      },
      notAccommodated(request) {
        of(request).notAccommodated++;
      },
      changed(set) {
        measure(times, set, whole);
      },
    };
  }

  levelGone(levelName: string): void {
    this.#times.delete(levelName);
  }

  dropped(levelName: string, request: FlowRequest, reason: DropReason): void {
    const counts = this.#countsOf(levelName, request.schemaName);
    counts.rejected.set(reason, (counts.rejected.get(reason) ?? 0) + 1);
    if (reason !== 'time-out') counts.waitedInVain.observe(0);
  }

  watchersFound(levelName: string, schemaName: string, count: number): void {
    this.#countsOf(levelName, schemaName).watchCount.observe(count);
  }

  addTo(metrics: Metrics, controller: FlowController): void {
    this.#addCounts(metrics);
    this.#addHistograms(metrics);
    addLevelGauges(metrics, controller);
    this.#readWrite.addTo(metrics);
  }

  #countsOf(levelName: string, schemaName: string): FlowCounts {
    const flows = this.#flows.get(levelName)!;
    let counts = flows.get(schemaName);
    if (!counts) {
      counts = newCounts(levelName, schemaName);
      flows.set(schemaName, counts);
    }
    return counts;
  }

  *#all(): Generator<FlowCounts, void, void> {
    for (const flows of this.#flows.values()) yield* flows.values();
  }

  #addCounts(metrics: Metrics): void {
    const add = (type: 'counter' | 'gauge', name: string, help: string, value: (counts: FlowCounts) => number) => {
      const samples = () => [...this.#all()].map((counts) => ({ labels: counts.labels, value: value(counts) }));
      metrics.collected({ name: PREFIX + name, help, type, samples });
    };
    metrics.collected({
      name: `${PREFIX}rejected_requests_total`,
      help: 'Number of requests that flow control rejected.',
      type: 'counter',
      samples: () =>
        [...this.#all()].flatMap(({ labels, rejected }) =>
          [...rejected].map(([reason, value]) => ({ labels: { ...labels, reason }, value })),
        ),
    });
    add('counter', 'dispatched_requests_total', 'Number of requests that began to run.', (c) => c.dispatched);
    add(
      'counter',
      'request_dispatch_no_accommodation_total',
      'Number of times the next request did not fit into the seats that were left.',
      (c) => c.notAccommodated,
    );
    add('gauge', 'current_inqueue_requests', 'Requests that wait.', (c) => c.waiting);
    add('gauge', 'current_inqueue_seats', 'Seats that waiting requests will take.', (c) => c.waitingSeats);
    add('gauge', 'current_executing_requests', 'Requests that run.', (c) => c.executing);
    add('gauge', 'current_executing_seats', 'Seats that are taken.', (c) => c.executingSeats);
  }

  #addHistograms(metrics: Metrics): void {
    const add = (name: string, help: string, samples: (counts: FlowCounts) => Iterable<Sample>) =>
      metrics.collected({
        name: PREFIX + name,
        help,
        type: 'histogram',
        samples: () => [...this.#all()].flatMap((counts) => [...samples(counts)]),
      });
    add('request_wait_duration_seconds', 'How long requests waited.', ({ labels, waitedToRun, waitedInVain }) => [
      ...waitedToRun.samples({ ...labels, execute: 'true' }),
      ...waitedInVain.samples({ ...labels, execute: 'false' }),
    ]);
    add('request_execution_seconds', 'How long requests ran; a watch until it was initialised.', ({ labels, ran }) => [
      ...ran.regular.samples({ ...labels, type: 'regular' }),
      ...ran.watch.samples({ ...labels, type: 'watch' }),
    ]);
    add('request_queue_length_after_enqueue', 'Length of a queue, seen by who joins it.', (c) =>
      c.queueLength.samples(c.labels),
    );
    add('work_estimated_seats', 'Seats that requests were expected to take.', (c) => c.seats.samples(c.labels));
    add('watch_count_samples', 'Watches that may hear of a write.', (c) => c.watchCount.samples(c.labels));
    const timed = (name: string, help: string, samples: (level: string, times: LevelTimes) => Iterable<Sample>) =>
      metrics.collected({
        name: PREFIX + name,
        help,
        type: 'histogram',
        samples: () => [...this.#times].flatMap(([level, times]) => [...samples(level, times)]),
      });
    timed('priority_level_seat_utilization', 'Part of the seats that is taken, over time.', (level, { seats }) =>
      seats.samples({ phase: 'executing', priority_level: level }),
    );
    timed(
      'priority_level_request_utilization',
      'Part of the requests there may be that is there, over time.',
      (level, { executing, waiting }) => [
        ...waiting.samples({ phase: 'waiting', priority_level: level }),
        ...executing.samples({ phase: 'executing', priority_level: level }),
      ],
    );
    timed('demand_seats', 'Seats asked for, as a part of those there are, over time.', (level, { demand }) =>
      demand.samples({ priority_level: level }),
    );
  }
}

function addLevelGauges(metrics: Metrics, controller: FlowController): void {
  const add = (name: string, help: string, value: (level: LevelState) => number) =>
    metrics.collected({
      name: PREFIX + name,
      help,
      type: 'gauge',
      samples: () =>
        [...controller.levels].map(([name, level]) => ({ labels: { priority_level: name }, value: value(level) })),
    });
  add('nominal_limit_seats', 'Seats of a level by right.', ({ limits }) => limits.nominal);
  add('lower_limit_seats', 'Seats a level has at least.', ({ limits }) => limits.min);
  add('upper_limit_seats', 'Seats a level can have at most.', ({ limits }) => limits.max);
  add('current_limit_seats', 'Seats a level has now.', ({ set }) => set.limit);
  add('demand_seats_high_watermark', 'Most seats asked for before the last look.', ({ look }) => look.highWatermark);
  add('demand_seats_average', 'Seats asked for before the last look, on average.', ({ look }) => look.average);
  add('demand_seats_stdev', 'Deviation of the seats asked for before the last look.', ({ look }) => look.deviation);
  add('demand_seats_smoothed', 'Seats asked for, smoothed.', ({ demand }) => demand.smoothed);
  add('target_seats', 'Seats a level should have.', ({ look }) => look.target);
  add('current_r', 'Virtual time of a level.', ({ set }) => set.currentR);
  add('dispatch_r', 'Virtual time when a request last began to run.', ({ set }) => set.lastDispatch.r);
  add('latest_s', 'Virtual time at which the request began that was last dispatched.', ({ set }) => set.lastDispatch.s);
  const addBounds = (name: string, help: string, bounds: (level: LevelState) => readonly [min: number, max: number]) =>
    metrics.collected({
      name: PREFIX + name,
      help,
      type: 'gauge',
      samples: () =>
        [...controller.levels].flatMap(([name, level]) =>
          bounds(level).map((value, i) => ({ labels: { priority_level: name, bound: BOUNDS[i]! }, value })),
        ),
    });
  addBounds('next_s_bounds', 'Bounds of the virtual times at which queues go on.', ({ set }) => set.lastDispatch.next);
  addBounds(
    'next_discounted_s_bounds',
    'The same, less the work that is guessed to be going on in each queue.',
    ({ set }) => set.lastDispatch.discounted,
  );
  metrics.collected({
    name: `${PREFIX}epoch_advance_total`,
    help: 'Times that virtual time was set back to keep it small; here its numbers have room for ever.',
    type: 'counter',
    samples: () => [],
  });
  metrics.collected({
    name: `${PREFIX}seat_fair_frac`,
    help: 'What the targets of all levels were multiplied by.',
    type: 'gauge',
    samples: () => [{ labels: {}, value: controller.fairFraction }],
  });
}

function measure({ seats, executing, waiting, demand }: LevelTimes, set: QueueSet, idleWhole: number): void {
  const whole = set.limit || idleWhole;
  const { config, at } = set;
  seats.set(set.seatsInUse, whole, at);
  executing.set(set.executing, whole, at);
  waiting.set(set.waiting, config.kind === 'queue' ? config.queues * config.queueLengthLimit : 1, at);
  demand.set(set.seatsInUse + set.waitingSeats, whole, at);
}

function newCounts(levelName: string, schemaName: string): FlowCounts {
  return {
    labels: { priority_level: levelName, flow_schema: schemaName },
    rejected: new Map(),
    dispatched: 0,
    notAccommodated: 0,
    waiting: 0,
    waitingSeats: 0,
    executing: 0,
    executingSeats: 0,
    waitedToRun: new PlainHistogram(SECONDS),
    waitedInVain: new PlainHistogram(SECONDS),
    ran: { regular: new PlainHistogram(SECONDS), watch: new PlainHistogram(SECONDS) },
    queueLength: new PlainHistogram(LENGTHS),
    seats: new PlainHistogram(SEATS),
    watchCount: new PlainHistogram(WATCHES),
  };
}

function isWatch({ about }: FlowRequest): boolean {
  return about?.attributes.kind === 'resource' && about.attributes.verb === 'watch';
}
