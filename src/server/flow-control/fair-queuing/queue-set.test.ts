import { expect, it } from 'vitest';
import { randomFrom } from '../../../../test/support/random.ts';
import { FlowRequest, ONE_SEAT, type WorkEstimate } from './flow-request.ts';
import { QueueSet } from './queue-set.ts';
import { HandTimer } from './seat-timer.testing.ts';

const seats = (initialSeats: number): WorkEstimate => ({ initialSeats, finalSeats: 0, extraSeconds: 0 });
const one = (schema = 'schema', distinguisher = '', estimate = ONE_SEAT) =>
  new FlowRequest(schema, distinguisher, estimate);
const queueing = (queues: number, handSize: number, queueLengthLimit: number) =>
  ({ kind: 'queue', queues, handSize, queueLengthLimit }) as const;

it('one runs, two wait, the fourth is rejected at once, and those who wait run in the order they came', () => {
  const set = new QueueSet(queueing(1, 1, 2), 1, new HandTimer());
  const requests = [one(), one(), one(), one()];
  expect(requests.map((request) => set.arrive(request))).toEqual(['executing', 'waiting', 'waiting', 'queue-full']);
  set.finish(requests[0]!);
  expect(requests.map(({ state }) => state)).toEqual(['over', 'executing', 'waiting', 'new']);
  expect(set.eject(requests[1]!)).toBe(false);
  expect(set.eject(requests[2]!)).toBe(true);
  expect(set.eject(requests[2]!)).toBe(false);
  set.finish(requests[1]!);
  set.finish(requests[1]!);
  expect(set.isIdle).toBe(true);
  expect([...set.queues()]).toEqual([]);
  expect([set.dispatched, set.rejected, set.cancelled]).toEqual([2, 1, 1]);
});

it('a level without queues runs what fits and rejects the rest', () => {
  const set = new QueueSet({ kind: 'reject' }, 2, new HandTimer());
  const requests = [one(), one(), one()];
  expect(requests.map((request) => set.arrive(request))).toEqual(['executing', 'executing', 'concurrency-limit']);
  set.finish(requests[0]!);
  expect(set.arrive(one())).toBe('executing');
});

it('an exempt level runs everything', () => {
  const set = new QueueSet({ kind: 'exempt' }, 0, new HandTimer());
  for (let i = 0; i < 100; i++) expect(set.arrive(one())).toBe('executing');
  expect(set.seatsInUse).toBe(100);
});

it('a wide request at the head of the line is not overtaken', () => {
  const timer = new HandTimer();
  const set = new QueueSet(queueing(64, 1, 50), 10, timer);
  const running = one('schema', 'a', seats(5));
  set.arrive(running);
  timer.advance(0.001);
  const wide = one('schema', 'b', seats(8));
  const later = new FlowRequest('schema', 'c', seats(1));
  expect(set.arrive(wide)).toBe('waiting');
  // Its queue is another, and its end in virtual time is later.
  for (let i = 0; i < 20; i++) set.arrive(one('schema', 'c', seats(5)));
  expect(set.arrive(later)).toBe('waiting');
  expect(set.seatsInUse).toBeLessThanOrEqual(10);
});

it('a wide request that gives up lets those behind it run at once', () => {
  const set = new QueueSet(queueing(1, 1, 50), 10, new HandTimer());
  const [running, wide, narrow] = [one('s', '', seats(5)), one('s', '', seats(8)), one('s')];
  for (const request of [running, wide, narrow]) set.arrive(request);
  expect(narrow.state).toBe('waiting');
  set.eject(wide);
  expect(narrow.state).toBe('executing');
});

it('a request wider than the level runs alone', () => {
  const set = new QueueSet(queueing(8, 1, 50), 4, new HandTimer());
  const [wide, small] = [one('schema', 'a', seats(10)), one('schema', 'b')];
  expect(set.arrive(wide)).toBe('executing');
  expect(set.arrive(small)).toBe('waiting');
  set.finish(wide);
  expect(small.state).toBe('executing');
  const second = one('schema', 'a', seats(10));
  expect(set.arrive(second)).toBe('waiting');
  set.finish(small);
  expect(second.state).toBe('executing');
});

it('the seats of a write are held until its event has been told, at the width of the wider part', () => {
  const timer = new HandTimer();
  const set = new QueueSet(queueing(8, 1, 50), 10, timer);
  const write = one('schema', 'a', { initialSeats: 1, finalSeats: 10, extraSeconds: 0.0075 });
  const read = one('schema', 'b');
  set.arrive(write);
  expect(set.seatsInUse).toBe(10);
  expect(set.arrive(read)).toBe('waiting');
  timer.advance(0.001);
  set.finish(write);
  expect(set.executing).toBe(0);
  expect(read.state).toBe('waiting');
  timer.advance(0.0074);
  expect(read.state).toBe('waiting');
  timer.advance(0.0002);
  expect(read.state).toBe('executing');
});

it('final seats beyond the limit become more time on the seats there are', () => {
  const set = new QueueSet(queueing(8, 1, 50), 2, new HandTimer());
  const write = one('schema', 'a', { initialSeats: 1, finalSeats: 10, extraSeconds: 0.01 });
  set.arrive(write);
  expect([write.finalSeats, set.seatsInUse]).toEqual([2, 2]);
  expect(write.extraSeconds).toBeCloseTo(0.05);
});

it('a level without a seat lets everybody wait until it gets some', () => {
  const set = new QueueSet(queueing(8, 1, 50), 0, new HandTimer());
  const requests = [one(), one(), one()];
  for (const request of requests) expect(set.arrive(request)).toBe('waiting');
  set.setLimit(2);
  expect(requests.map(({ state }) => state)).toEqual(['executing', 'executing', 'waiting']);
});

it('fewer queues: those too many drain, new requests use those that are left', () => {
  const set = new QueueSet(queueing(64, 4, 50), 1, new HandTimer());
  const requests = Array.from({ length: 40 }, (_, i) => one('schema', `user-${i}`));
  for (const request of requests) set.arrive(request);
  set.configure(queueing(2, 1, 50));
  const late = one('schema', 'late');
  set.arrive(late);
  expect(late.queueIndex).toBeLessThan(2);
  for (let i = 0; i < 41; i++) for (const request of [...set.running]) set.finish(request);
  expect(requests.every(({ state }) => state === 'over')).toBe(true);
  expect([...set.queues()]).toEqual([]);
});

it('a level of ten million queues costs what is in them', () => {
  const set = new QueueSet(queueing(10_000_000, 2, 50), 1, new HandTimer());
  for (let i = 0; i < 100; i++) set.arrive(one('schema', `user-${i}`));
  expect([...set.queues()].length).toBeLessThanOrEqual(100);
});

/** Asked a hundred thousand times, where `expect` would take a minute. */
function must(isTrue: boolean): void {
  if (!isTrue) expect.unreachable('what is always true is not');
}

/** Random life: requests come, run for a while, throw, are aborted before and after their start; limits change. */
it.each(Array.from({ length: 40 }, (_, seed) => seed))(
  'seats are never exceeded nor lost, and virtual time never goes back (seed %i)',
  (seed) => {
    const random = randomFrom(seed);
    const timer = new HandTimer();
    const pick = (n: number) => Math.floor(random() * n);
    let isShrunk = false;
    let lastR = 0;
    const set: QueueSet = new QueueSet(
      seed % 5 === 0 ? { kind: 'reject' } : queueing(1 + pick(16), 1 + pick(4), 1 + pick(6)),
      1 + pick(12),
      timer,
      {
        started({ width }) {
          must(isShrunk || set.seatsInUse <= set.limit || set.executing === 1 || width > set.limit);
        },
        changed() {
          must(set.currentR >= lastR);
          lastR = set.currentR;
          must(set.seatsInUse >= 0 && set.waitingSeats >= 0);
        },
      },
    );
    const alive: FlowRequest[] = [];
    for (let step = 0; step < 1500; step++) {
      timer.advance(random() < 0.3 ? 0 : random() * 0.01);
      const what = random();
      if (what < 0.5) {
        const hasTail = random() < 0.2;
        const estimate = {
          initialSeats: 1 + pick(6),
          finalSeats: hasTail ? 1 + pick(10) : 0,
          extraSeconds: hasTail ? random() * 0.02 : 0,
        };
        const request = new FlowRequest('schema', `user-${pick(6)}`, estimate);
        const arrival = set.arrive(request);
        if (arrival === 'executing' || arrival === 'waiting') alive.push(request);
        else must(request.state === 'new');
      } else if (what < 0.95) {
        const [request] = alive.splice(pick(alive.length), 1);
        if (request) {
          // Whoever leaves does not know where it is: both are tried, in any order, and twice.
          for (const leave of random() < 0.5 ? ['eject', 'finish', 'eject'] : ['finish', 'eject', 'finish'])
            if (leave === 'eject') set.eject(request);
            else set.finish(request);
          must(request.state === 'over');
        }
      } else {
        const limit = pick(12);
        isShrunk ||= limit < set.seatsInUse;
        set.setLimit(limit);
      }
      for (const { oldest, nextDispatchR } of set.queues()) must(!oldest || nextDispatchR >= oldest.arrivalR);
      let waitingSeats = 0;
      for (const queue of set.queues()) for (const { width } of queue.waiting()) waitingSeats += width;
      must(set.waitingSeats === waitingSeats);
      must(set.waiting + set.executing === alive.length);
    }
    set.setLimit(20);
    for (const request of alive.splice(0)) {
      set.eject(request);
      set.finish(request);
    }
    timer.advance(1);
    expect(set.isIdle).toBe(true);
    expect([set.seatsInUse, set.waitingSeats, set.waiting, set.executing]).toEqual([0, 0, 0, 0]);
    expect([...set.queues()]).toEqual([]);
  },
);
