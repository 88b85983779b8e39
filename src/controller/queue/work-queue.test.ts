import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { QueueFullError, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

const setUp = (options: WorkQueueOptions<string> = {}) => {
  const clock = new FakeClock();
  return { clock, queue: new WorkQueue<string>({ clock, ...options }) };
};

describe('WorkQueue', () => {
  it('hands out a key once, however often it was added, with all its causes and the highest priority', async () => {
    const { queue } = setUp();
    queue.add('ns/a', { cause: 'created' });
    queue.add('ns/b', { priority: 1 });
    queue.add('ns/a', { cause: ['updated', 'created'], priority: 2 });
    expect(queue.depth).toBe(2);
    expect(await queue.get()).toEqual({
      key: 'ns/a',
      causes: ['created', 'updated'],
      omittedCauses: 0,
      attempt: 1,
      priority: 2,
      namespace: 'ns',
      waitedMs: 0,
    });
    expect((await queue.get())?.key).toBe('ns/b');
  });

  it('keeps a key that is in flight out of other hands, and hands it out again when done', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a', { cause: 'again' });
    let next: string | undefined;
    void queue.get().then((item) => (next = item?.causes.join()));
    await clock.advance(0);
    expect(next).toBeUndefined();
    queue.done('a');
    await clock.advance(0);
    expect(next).toBe('again');
    expect(() => queue.done('b')).toThrow('Cannot finish "b": it is not in flight');
  });

  it('keeps a bounded number of causes and counts the rest', async () => {
    const { queue } = setUp({ causeLimit: 2 });
    for (const cause of ['x', 'y', 'z', 'x', 'w']) queue.add('a', { cause });
    expect(await queue.get()).toMatchObject({ causes: ['x', 'y'], omittedCauses: 2 });
  });

  it('hands out a key when it was quiet, with all its causes, however often it was added before', async () => {
    const { queue, clock } = setUp();
    for (let i = 0; i < 5; i++) {
      queue.addWhenQuiet('a', 100, { cause: `c${i}`, priority: i });
      await clock.advance(99);
    }
    expect(queue.depth).toBe(0);
    expect(queue.metrics()).toMatchObject({ workqueue_delayed: 1, workqueue_retries_total: 0 });
    await clock.advance(1);
    expect(await queue.get()).toMatchObject({ causes: ['c0', 'c1', 'c2', 'c3', 'c4'], priority: 4, waitedMs: 0 });
    queue.addWhenQuiet('a', 100); // of one in flight, too
    queue.done('a');
    await clock.advance(99);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  it('hands out a key that is never quiet at the latest after ten times the quiet time', async () => {
    const { queue, clock } = setUp();
    const handedOutAt: number[] = [];
    void (async () => {
      for (let item = await queue.get(); item; item = await queue.get()) {
        handedOutAt.push(clock.now());
        queue.done(item.key);
      }
    })();
    for (let now = 0; now < 2500; now += 50) {
      queue.addWhenQuiet('a', 100);
      await clock.advance(50);
    }
    await clock.advance(1000);
    expect(handedOutAt).toEqual([1000, 2000, 2550]);
    queue.close();
  });

  it('puts off neither what is added at once nor what is delayed, and then knows of nothing else to do', async () => {
    const { queue, clock } = setUp();
    queue.addWhenQuiet('a', 100, { cause: 'debounced' });
    queue.add('a', { cause: 'now' });
    queue.addWhenQuiet('a', 100, { cause: 'late' }); // waits already
    queue.addWhenQuiet('b', 100, { cause: 'debounced' });
    queue.addAfter('b', 50, { cause: 'retry' });
    expect(await queue.get()).toMatchObject({ key: 'a', causes: ['now', 'debounced', 'late'] });
    queue.done('a');
    await clock.advance(50);
    expect(await queue.get()).toMatchObject({ key: 'b', causes: ['retry', 'debounced'] });
    queue.done('b');
    expect(clock.sleeping).toBe(0);
    await clock.advance(1000);
    expect(queue.depth).toBe(0);
  });

  it('counts debounced keys to its limit, and drops them when it is drained or closed', async () => {
    const { queue, clock } = setUp({ limit: 1 });
    queue.addWhenQuiet('a', 100);
    expect(() => queue.add('b')).toThrow(QueueFullError);
    expect(queue.addWhenQuiet('a', 100)).toBe(true);
    await queue.drain();
    expect([queue.addWhenQuiet('c', 100), clock.sleeping]).toEqual([false, 0]);
    expect(() => queue.addWhenQuiet('a', Number.NaN)).toThrow('Cannot add "a" when quiet');
  });

  it('adds a delayed key at the earliest time asked for, with one timer for all', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 500, { cause: 'slow' });
    queue.addAfter('a', 100, { cause: 'fast' });
    queue.addAfter('a', 900);
    queue.addAfter('b', 50);
    for (let i = 0; i < 100; i++) queue.addAfter(`c${i}`, 1_000 + i);
    await clock.advance(0);
    expect(clock.sleeping).toBe(1);
    await clock.advance(49);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect((await queue.get())?.key).toBe('b');
    await clock.advance(50);
    expect(await queue.get()).toMatchObject({ key: 'a', causes: ['slow', 'fast'], waitedMs: 0 });
    await clock.advance(899);
    expect(queue.depth).toBe(0);
    await clock.advance(200);
    expect(queue.depth).toBe(100);
    expect(clock.sleeping).toBe(0);
  });

  it('doubles the delay of a key with each failure, up to the cap, until it is forgotten', async () => {
    const { queue } = setUp({ retries: { maxDelayMs: 50, perSecond: Infinity } });
    const delays = Array.from({ length: 6 }, () => queue.addRateLimited('a'));
    expect(delays).toEqual([5, 10, 20, 40, 50, 50]);
    expect(queue.retries('a')).toBe(6);
    expect(queue.addRateLimited('b')).toBe(5);
    queue.forget('a');
    expect(queue.retries('a')).toBe(0);
    expect(queue.addRateLimited('a')).toBe(5);
  });

  it('lets no more than the bucket holds come back at once, and so many a second after', async () => {
    const { queue, clock } = setUp({ retries: { perSecond: 10, burst: 100 } });
    for (let i = 0; i < 120; i++) queue.addRateLimited(`k${i}`);
    await clock.advance(5);
    expect(queue.depth).toBe(100);
    await clock.advance(995);
    expect(queue.depth).toBe(110);
    await clock.advance(1_000);
    expect(queue.depth).toBe(120);
  });

  it('a short outage that fails every key of many puts none of them off for long', async () => {
    const { queue, clock } = setUp();
    const keys = Array.from({ length: 4_000 }, (_, i) => `k${i}`);
    for (const key of keys) queue.addRateLimited(key); // each fails as often as it can in 300 ms
    for (let ms = 0; ms < 300; ms += 5) {
      await clock.advance(5);
      while (queue.depth > 0) {
        const item = await queue.get();
        queue.addRateLimited(item!.key);
        queue.done(item!.key);
      }
    }
    await clock.advance(6_000); // the longest that the bucket puts anybody off, and a backoff
    expect(queue.depth).toBe(keys.length);
  });

  it('counts the attempts', async () => {
    const { queue, clock } = setUp();
    for (let attempt = 1; attempt < 4; attempt++) {
      if (attempt === 1) queue.add('a');
      else queue.addRateLimited('a');
      await clock.advance(100);
      expect((await queue.get())?.attempt).toBe(attempt);
      queue.done('a');
    }
  });

  it('refuses a key beyond its limit, but never one that it holds', async () => {
    const { queue } = setUp({ limit: 3 });
    queue.add('a');
    await queue.get();
    queue.add('b');
    queue.addAfter('c', 10);
    expect(() => queue.add('d')).toThrow(QueueFullError);
    expect(() => queue.addAfter('d', 10)).toThrow('Cannot add "d": the queue holds 3 keys');
    expect(queue.add('a') && queue.add('b') && queue.addAfter('a', 5)).toBe(true);
  });

  it('lets a reader go by its signal, and serves the next', async () => {
    const { queue } = setUp();
    const stop = new AbortController();
    const impatient = queue.get(stop.signal);
    const patient = queue.get();
    stop.abort(new Error('no time'));
    await expect(impatient).rejects.toThrow('no time');
    queue.add('a');
    expect((await patient)?.key).toBe('a');
    await expect(queue.get(stop.signal)).rejects.toThrow('no time');
  });

  it('drains: hands out what waits, waits for what is in flight, takes nothing more', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await queue.get();
    queue.add('a');
    let isDrained = false;
    const drained = queue.drain().then(() => (isDrained = true));
    expect(queue.add('d')).toBe(false);
    expect(queue.addRateLimited('d')).toBeUndefined();
    expect((await queue.get())?.key).toBe('b');
    queue.done('b');
    const idle = queue.get();
    queue.done('a');
    expect((await idle)?.key).toBe('a');
    await clock.advance(1_000);
    expect(isDrained).toBe(false);
    queue.done('a');
    await drained;
    expect(await queue.get()).toBeUndefined();
  });

  it('closes: drops what waits, and tells every reader', async () => {
    const { queue, clock } = setUp();
    const reader = queue.get();
    queue.addAfter('a', 10);
    queue.close();
    expect(await reader).toBeUndefined();
    expect(await queue.get()).toBeUndefined();
    await clock.advance(10);
    expect(clock.sleeping).toBe(0);
    expect(queue.depth).toBe(0);
  });

  it('tells keys apart by what identify says', async () => {
    type Key = { namespace: string; name: string };
    const queue = new WorkQueue<Key>({ identify: ({ namespace, name }) => `${namespace}/${name}` });
    queue.add({ namespace: 'x', name: 'a' });
    queue.add({ namespace: 'x', name: 'a' });
    expect(queue.depth).toBe(1);
    expect(await queue.get()).toMatchObject({ namespace: 'x' });
    queue.done({ namespace: 'x', name: 'a' });
  });

  it('measures under the names people know', async () => {
    const events: string[] = [];
    const { queue, clock } = setUp({
      observer: {
        onAdd: () => events.push('add'),
        onDepth: (depth) => events.push(`depth ${depth}`),
        onQueueDuration: (seconds) => events.push(`waited ${seconds}`),
        onWorkDuration: (seconds) => events.push(`worked ${seconds}`),
        onRetry: () => events.push('retry'),
      },
    });
    queue.add('a');
    queue.add('a');
    await clock.advance(2_000);
    await queue.get();
    await clock.advance(3_000);
    queue.addRateLimited('b');
    expect(queue.metrics()).toMatchObject({
      workqueue_depth: 0,
      workqueue_adds_total: 1,
      workqueue_retries_total: 1,
      workqueue_queue_duration_seconds: { count: 1, sum: 2 },
      workqueue_work_duration_seconds: { count: 0, sum: 0 },
      workqueue_unfinished_work_seconds: 3,
      workqueue_longest_running_processor_seconds: 3,
      workqueue_delayed: 1,
      workqueue_in_flight: 1,
    });
    queue.done('a');
    expect(queue.metrics().workqueue_work_duration_seconds.buckets.slice(-4)).toEqual([
      [1, 0],
      [10, 1],
      [100, 1],
      [1000, 1],
    ]);
    expect(events).toEqual(['add', 'depth 1', 'waited 2', 'depth 0', 'retry', 'worked 3']);
  });
});

const keys = fc.integer({ min: 0, max: 7 }).map((n) => `ns${n % 3}/${n}`);
const commands = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('add' as const), key: keys, priority: fc.integer({ min: 0, max: 2 }) }),
    fc.record({ do: fc.constant('addAfter' as const), key: keys, delayMs: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ do: fc.constant('get' as const) }),
    fc.record({ do: fc.constant('done' as const), which: fc.nat(10) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 30 }) }),
  ),
  { maxLength: 80 },
);

it('a queue agrees with a naive one: nothing lost, nothing twice in flight, the highest priority first', async () => {
  await fc.assert(
    fc.asyncProperty(commands, async (steps) => {
      const { queue, clock } = setUp();
      const waiting = new Map<string, number>();
      const again = new Map<string, number>();
      const delayed = new Map<string, number>();
      const inFlight = new Set<string>();
      const put = (into: Map<string, number>, key: string, priority: number) =>
        into.set(key, Math.max(priority, into.get(key) ?? 0));
      const add = (key: string, priority: number) => put(inFlight.has(key) ? again : waiting, key, priority);
      const finish = (key: string) => {
        queue.done(key);
        inFlight.delete(key);
        const priority = again.get(key);
        again.delete(key);
        if (priority !== undefined) waiting.set(key, priority);
      };
      const take = async () => {
        const item = (await queue.get())!;
        expect(inFlight.has(item.key)).toBe(false);
        expect(item.priority).toBe(waiting.get(item.key));
        // Nobody has waited for a second here, so age plays no part.
        expect(item.priority).toBe(Math.max(...waiting.values()));
        waiting.delete(item.key);
        inFlight.add(item.key);
      };
      for (const step of steps) {
        if (step.do === 'add') {
          queue.add(step.key, { priority: step.priority });
          add(step.key, step.priority);
        } else if (step.do === 'addAfter') {
          queue.addAfter(step.key, step.delayMs);
          const dueAt = clock.now() + step.delayMs;
          delayed.set(step.key, Math.min(dueAt, delayed.get(step.key) ?? Infinity));
        } else if (step.do === 'get' && waiting.size > 0) {
          await take();
        } else if (step.do === 'done' && inFlight.size > 0) {
          finish([...inFlight][step.which % inFlight.size]!);
        } else if (step.do === 'wait') {
          await clock.advance(step.ms);
          for (const [key, dueAt] of delayed) {
            if (dueAt > clock.now()) continue;
            delayed.delete(key);
            add(key, 0);
          }
        }
        expect(queue.depth).toBe(waiting.size);
        expect(queue.metrics()).toMatchObject({
          workqueue_delayed: delayed.size,
          workqueue_in_flight: inFlight.size,
        });
      }
      while (waiting.size + inFlight.size > 0) {
        while (waiting.size > 0) await take();
        for (const key of inFlight) finish(key);
      }
      expect(queue.depth).toBe(0);
    }),
    { numRuns: 200 },
  );
}, 60_000);

/** Not a claim about time: the figures are printed for whoever looks. */
it('a queue of 50 000 keys in 1 000 namespaces comes out whole', async () => {
  const queue = new WorkQueue<string>();
  const count = 50_000;
  const names = Array.from({ length: count }, (_, i) => `ns${i % 1000}/${i}`);
  const startedAt = performance.now();
  for (const key of names) queue.add(key, { cause: 'initial', priority: -100 });
  const addedAt = performance.now();
  for (let i = 0; i < count; i++) {
    const item = await queue.get();
    queue.done(item!.key);
  }
  const doneAt = performance.now();
  for (const key of names) queue.addAfter(key, 1e6 + (key.length % 7) * 1000);
  const delayedAt = performance.now();
  queue.close();
  const rate = (ms: number) => `${Math.round(count / ms)}k/s`;
  const figures = `add ${rate(addedAt - startedAt)}, get+done ${rate(doneAt - addedAt)}, addAfter ${rate(delayedAt - doneAt)}`;
  console.info(`work queue: ${figures}`);
  expect(queue.metrics().workqueue_work_duration_seconds.count).toBe(count);
});

it('what was handed out stays as it was, whatever comes after it', async () => {
  const queue = new WorkQueue<string>();
  queue.add('a/1', { cause: ['x', 'y'], priority: 3 });
  const first = (await queue.get())!;
  const held = structuredClone(first);
  queue.done('a/1');
  queue.add('b/2', { cause: 'z' });
  queue.add('a/1');
  expect([(await queue.get())!, (await queue.get())!]).toMatchObject([
    { key: 'b/2', causes: ['z'], priority: 0, namespace: 'b' },
    { key: 'a/1', causes: [], priority: 0, namespace: 'a' },
  ]);
  expect(first).toEqual(held);
  expect(() => queue.done('c/3')).toThrow('it is not in flight');
});
