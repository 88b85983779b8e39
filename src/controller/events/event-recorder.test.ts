import { expect, it } from 'vitest';
import type { KubeClient } from '../../client/index.ts';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { EventBudget } from './event-budget.ts';
import { EventRecorder } from './event-recorder.ts';

const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };

it('a recorder whose server does not answer is closed after its time, and what it held is counted as failed', async () => {
  const clock = new FakeClock();
  const never = (_body: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  const client = { resource: () => ({ create: never }) } as unknown as Pick<KubeClient, 'resource'>;
  const errors: unknown[] = [];
  const recorder = new EventRecorder(client, { clock, flushMs: 5000, onError: (error) => void errors.push(error) });
  const bound = recorder.bind('me', subject);
  bound.normal('A', 'a');
  bound.warning('B', 'b');
  let isClosed = false;
  const closing = recorder[Symbol.asyncDispose]().then(() => {
    isClosed = true;
  });
  await clock.advance(4999);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await closing;
  expect(recorder.metrics()).toEqual({ recorded: 2, written: 0, dropped: 0, failed: 2, waiting: 0 });
  expect([errors, clock.sleeping]).toEqual([[], 0]);
});

it('a client that throws, and one that is told of it and throws, do no harm', async () => {
  const client = {
    resource: () => {
      throw new Error('bug');
    },
  };
  const onError = () => {
    throw new Error('another');
  };
  const recorder = new EventRecorder(client, { onError });
  recorder.bind('me', subject).normal('A', 'a');
  await recorder.flushed();
  expect(recorder.metrics()).toMatchObject({ failed: 1, waiting: 0 });
});

it('an object has its budget, which fills up again, and nobody pays for another', async () => {
  const clock = new FakeClock();
  const budget = new EventBudget({ burst: 2, refillMs: 1000 }, clock);
  const take = (subject: string) => [budget.take(subject), budget.take(subject), budget.take(subject)];
  expect(take('a')).toEqual([true, true, false]);
  expect(take('b')).toEqual([true, true, false]);
  await clock.advance(999);
  expect(budget.take('a')).toBe(false);
  await clock.advance(1);
  expect(take('a')).toEqual([true, false, false]);
  await clock.advance(60_000);
  expect(take('a')).toEqual([true, true, false]);
});
