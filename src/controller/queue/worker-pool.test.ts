import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { TerminalError } from './terminal-error.ts';
import { WorkQueue } from './work-queue.ts';
import { type WorkContext, WorkerPool, type WorkerPoolOptions, type WorkResult } from './worker-pool.ts';

type Handler = (key: string, context: WorkContext) => Promise<WorkResult> | WorkResult;

const setUp = (handler: Handler, more: Partial<WorkerPoolOptions<string>> = {}) => {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>({ clock });
  const outcomes: string[] = [];
  const pool = new WorkerPool<string>({
    queue,
    handler,
    clock,
    onOutcome: ({ key, result, attempt }) => outcomes.push(`${clock.now()} ${key} ${result} ${attempt}`),
    ...more,
  });
  return { clock, queue, pool, outcomes };
};

const untilAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('WorkerPool', () => {
  it('tells the handler why it runs, and runs no more than its workers at once', async () => {
    let running = 0;
    let most = 0;
    const seen: string[] = [];
    const { clock, queue, pool, outcomes } = setUp(
      async (key, { causes, attempt, priority }) => {
        seen.push(`${key} ${causes} ${attempt} ${priority}`);
        most = Math.max(most, ++running);
        await clock.sleep(10);
        running--;
      },
      { workers: 2 },
    );
    queue.add('a', { cause: 'created', priority: 3 });
    queue.add('b');
    queue.add('c');
    await clock.advance(20);
    expect(seen[0]).toBe('a created 1 3');
    expect(most).toBe(2);
    expect(outcomes).toEqual(['10 a success 1', '10 b success 1', '20 c success 1']);
    await pool.stop();
  });

  it('tries a key again after its backoff when the handler throws, in any way, and harms no other', async () => {
    const { clock, queue, pool, outcomes } = setUp((key, { attempt, causes }) => {
      if (key === 'bad' && attempt === 1) throw new Error('at once');
      if (key === 'bad' && attempt === 2) return Promise.reject(new Error('later'));
      if (key === 'bad') expect(causes).toEqual(['why']);
      return undefined;
    });
    queue.add('bad', { cause: 'why' });
    queue.add('good');
    await clock.advance(20);
    expect(outcomes).toEqual(['0 bad error 1', '0 good success 1', '5 bad error 2', '15 bad success 3']);
    expect(queue.retries('bad')).toBe(0);
    expect(pool.metrics()).toMatchObject({
      controller_runtime_reconcile_total: { success: 2, error: 2 },
      controller_runtime_reconcile_errors_total: 2,
      controller_runtime_active_workers: 0,
    });
    await pool.stop();
  });

  it('brings a key back when the handler asks for it, and not after a terminal error', async () => {
    const { clock, queue, pool, outcomes } = setUp((key) => {
      if (key === 'hopeless') throw new TerminalError('never');
      return { requeueAfterMs: 100 };
    });
    queue.add('hopeless');
    queue.add('steady');
    await clock.advance(250);
    expect(outcomes).toEqual([
      '0 hopeless terminal_error 1',
      '0 steady requeue_after 1',
      '100 steady requeue_after 1',
      '200 steady requeue_after 1',
    ]);
    await pool.stop();
  });

  it('fires the signal of a reconcile that takes too long, with a reason of its own', async () => {
    const reasons: string[] = [];
    const { clock, queue, pool, outcomes } = setUp(
      async (_key, { signal, attempt }) => {
        if (attempt > 1) return;
        await untilAbort(signal).catch((err: Error) => {
          reasons.push(err.name);
          throw err;
        });
      },
      { timeoutMs: 100 },
    );
    queue.add('a');
    await clock.advance(200);
    expect(reasons).toEqual(['ReconcileTimeoutError']);
    expect(outcomes).toEqual(['100 a error 1', '105 a success 2']);
    expect(pool.metrics().controller_runtime_reconcile_timeouts_total).toBe(1);
    expect(clock.sleeping).toBe(0);
    await pool.stop();
  });

  it('stops: takes nothing more and lets what is in flight end', async () => {
    const { clock, queue, pool, outcomes } = setUp(() => clock.sleep(1_000), { workers: 1 });
    queue.add('a');
    queue.add('b');
    await clock.advance(0);
    const stopped = pool.stop();
    await clock.advance(1_000);
    await stopped;
    expect(outcomes).toEqual(['1000 a success 1']);
    expect(queue.depth).toBe(1);
    expect(clock.sleeping).toBe(0);
  });

  it('cuts work short when the grace is over, and puts its key back without blame', async () => {
    const { clock, queue, pool, outcomes } = setUp((_key, { signal }) => untilAbort(signal), { graceMs: 500 });
    queue.add('a', { cause: 'why' });
    await clock.advance(0);
    const stopped = pool.stop();
    await clock.advance(500);
    await stopped;
    expect(outcomes).toEqual(['500 a stopped 1']);
    expect(await queue.get()).toMatchObject({ key: 'a', causes: ['why'], attempt: 1 });
  });

  it('gives up on a handler that does not hear, and keeps its key out of other hands', async () => {
    let finish: () => void = () => {};
    const { clock, queue, pool, outcomes } = setUp(() => new Promise<void>((resolve) => (finish = resolve)), {
      graceMs: 10,
      abortGraceMs: 10,
    });
    queue.add('a');
    await clock.advance(0);
    const stopped = pool.stop();
    await clock.advance(20);
    await stopped;
    expect(outcomes).toEqual(['20 a abandoned 1']);
    expect(queue.metrics().workqueue_in_flight).toBe(1);
    finish();
    await clock.advance(0);
    expect(queue.metrics().workqueue_in_flight).toBe(0);
  });

  it('ends when its queue has been drained', async () => {
    const { queue, pool, outcomes } = setUp(() => {});
    for (const key of 'abc') queue.add(key);
    await queue.drain();
    await pool.ended;
    expect(outcomes).toHaveLength(3);
  });

  it('lets timers and sockets have their turn in a long run of handlers that never wait', async () => {
    const { queue, pool, outcomes } = setUp(() => {});
    for (let i = 0; i < 10_000; i++) queue.add(`k${i}`);
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(outcomes.length).toBeLessThan(10_000);
    await queue.drain();
    await pool.stop();
    expect(outcomes).toHaveLength(10_000);
  });

  it('refuses to run without workers', () => {
    expect(() => setUp(() => {}, { workers: 0 })).toThrow('Cannot start a worker pool: 0 workers');
  });

  it('cuts all reconciles short at once when told to, and puts their keys back', async () => {
    const { clock, queue, pool, outcomes } = setUp((_key, { signal }) => untilAbort(signal), { workers: 2 });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.advance(10);
    pool.cut(new Error('no longer ours'));
    await pool.stop();
    expect(outcomes).toEqual(['10 a stopped 1', '10 b stopped 1']);
    expect([queue.depth, queue.retries('a'), clock.sleeping]).toEqual([3, 0, 0]);
  });
});
