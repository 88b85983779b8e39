/** Whether the queues are fair: simulated flows that always want more than they get, or less, and what each of them got. */
import { expect, it } from 'vitest';
import { randomFrom } from '../../../../test/support/random.ts';
import { FlowRequest } from './flow-request.ts';
import { QueueSet } from './queue-set.ts';
import { HandTimer } from './seat-timer.testing.ts';

type Flow = {
  readonly name: string;
  /** So many at once, always. */
  readonly parallel: number;
  readonly seats: number;
  readonly seconds: () => number;
};

/** Seat-seconds that each flow got while all of them wanted more. */
function serve(flows: readonly Flow[], limit: number, runSeconds: number): Map<string, number> {
  const timer = new HandTimer();
  const set = new QueueSet({ kind: 'queue', queues: 512, handSize: 1, queueLengthLimit: 1000 }, limit, timer);
  const got = new Map<string, number>(flows.map(({ name }) => [name, 0]));
  const ask = (flow: Flow) => {
    const run = () => {
      const seconds = flow.seconds();
      timer.after(seconds, () => {
        got.set(flow.name, got.get(flow.name)! + seconds * flow.seats);
        ask(flow); // before its seats are free: the flow never has nothing to say
        set.finish(request);
      });
    };
    const estimate = { initialSeats: flow.seats, finalSeats: 0, extraSeconds: 0 };
    const request: FlowRequest = new FlowRequest('schema', flow.name, estimate, run);
    const arrival = set.arrive(request);
    if (arrival === 'executing') run();
    else if (arrival !== 'waiting') throw new Error(arrival);
  };
  for (const flow of flows) for (let i = 0; i < flow.parallel; i++) ask(flow);
  timer.advance(runSeconds);
  return got;
}

it.each(Array.from({ length: 8 }, (_, seed) => seed + 1))(
  'every flow that wants more gets its fair share within a tenth, however many it sends and however long they last (seed %i)',
  (seed) => {
    const random = randomFrom(seed);
    const count = 2 + Math.floor(random() * 4);
    const limit = 4 + Math.floor(random() * 8);
    const flows = Array.from({ length: count }, (_, i): Flow => {
      const mean = 0.002 * 10 ** (random() * 1.3);
      // Enough of them to use all seats alone, up to a flood.
      const parallel = limit * (1 + Math.floor(random() * 6));
      return { name: `flow-${i}`, parallel, seats: 1, seconds: () => mean * (0.5 + random()) };
    });
    const got = serve(flows, limit, 3);
    const fair = [...got.values()].reduce((sum, n) => sum + n, 0) / count;
    for (const [name, share] of got) expect(Math.abs(share / fair - 1), `${name} of ${count}`).toBeLessThan(0.1);
  },
);

it('wide requests cost their flow its share of requests, not others their seats', () => {
  const flows: Flow[] = [
    { name: 'narrow', parallel: 40, seats: 1, seconds: () => 0.005 },
    { name: 'wide', parallel: 40, seats: 5, seconds: () => 0.005 },
  ];
  const got = serve(flows, 10, 10);
  const ratio = got.get('narrow')! / got.get('wide')!;
  expect(ratio).toBeGreaterThan(0.9);
  expect(ratio).toBeLessThan(1.1);
});

it('one that comes seldom does not wait for a flood', () => {
  const timer = new HandTimer();
  const set = new QueueSet({ kind: 'queue', queues: 128, handSize: 6, queueLengthLimit: 50 }, 4, timer);
  const flood = () => {
    const run = () => void timer.after(0.05, () => set.finish(request));
    const request: FlowRequest = new FlowRequest('schema', 'loud', ONE, run);
    if (set.arrive(request) === 'executing') run();
  };
  const waits: number[] = [];
  for (let i = 0; i < 200; i++) flood();
  for (let second = 0; second < 20; second++) {
    timer.advance(1);
    for (let i = 0; i < 80; i++) flood();
    const asked = timer.now();
    const quiet: FlowRequest = new FlowRequest('schema', 'quiet', ONE, () => {
      waits.push(timer.now() - asked);
      set.finish(quiet);
    });
    if (set.arrive(quiet) === 'executing') {
      waits.push(0);
      set.finish(quiet);
    }
  }
  timer.advance(1);
  expect(waits).toHaveLength(20);
  // At most until the next of four seats is free, each taken for 50 ms.
  for (const seconds of waits) expect(seconds).toBeLessThanOrEqual(0.051);
});

const ONE = { initialSeats: 1, finalSeats: 0, extraSeconds: 0 };
