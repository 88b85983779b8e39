import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { SyncQueue } from './sync-queue.ts';

/** A queue that writes down what it does; `broken` has the keys that fail. */
function begin(more: { gatherMs?: number; during?: (key: string, signal: AbortSignal) => Promise<void> } = {}) {
  const clock = new FakeClock();
  const [synced, failures, broken] = [[] as string[], [] as string[], new Set<string>()];
  const sync = async (key: string, signal: AbortSignal) => {
    synced.push(key);
    await more.during?.(key, signal);
    if (broken.has(key)) throw new Error('broken');
  };
  const onFailure = (key: string, { message }: Error) => failures.push(`${key}: ${message}`);
  const queue = new SyncQueue({ sync, onFailure, clock, ...(more.gatherMs && { gatherMs: more.gatherMs }) });
  return { clock, queue, synced, failures, broken };
}

it('what comes several times before its turn has one turn', async () => {
  const { clock, queue, synced } = begin();
  for (const key of ['a', 'b', 'a']) queue.add(key);
  expect(synced).toEqual([]);
  await clock.advance(0);
  expect(synced).toEqual(['a', 'b']);
  await queue.close();
});

it('what comes during its own turn has another', async () => {
  let isFirst = true;
  const { clock, queue, synced } = begin({
    during: async (key) => {
      if (isFirst) queue.add(key);
      isFirst = false;
    },
  });
  queue.add('a');
  await clock.advance(0);
  expect(synced).toEqual(['a', 'a']);
  await queue.close();
});

it('a key that fails holds up no other, and is tried again later each time', async () => {
  const { clock, queue, synced, failures, broken } = begin();
  broken.add('bad');
  queue.add('bad');
  queue.add('good');
  await clock.advance(0);
  expect(synced).toEqual(['bad', 'good']);
  expect(failures).toEqual(['bad: broken']);
  queue.add('other');
  await clock.advance(999);
  expect(synced).toEqual(['bad', 'good', 'other']);
  await clock.advance(1);
  expect(synced.filter((key) => key === 'bad').length).toBe(2);
  await clock.advance(1999);
  expect(synced.filter((key) => key === 'bad').length).toBe(2);
  broken.clear();
  await clock.advance(1);
  expect(synced.filter((key) => key === 'bad').length).toBe(3);
  await clock.advance(600_000);
  expect(synced.filter((key) => key === 'bad').length).toBe(3);
  expect(failures.length).toBe(2);
  await queue.close();
});

it('a change of a key that failed does not wait for its pause, and there is one pause at most', async () => {
  const { clock, queue, synced, broken } = begin();
  broken.add('bad');
  queue.add('bad');
  await clock.advance(500);
  queue.add('bad');
  await clock.advance(0);
  expect(synced).toEqual(['bad', 'bad']);
  await clock.advance(1999); // the first pause would be over, the second is not
  expect(synced.length).toBe(2);
  await clock.advance(1);
  expect(synced.length).toBe(3);
  queue.forget('bad');
  await clock.advance(600_000);
  expect(synced.length).toBe(3);
  await queue.close();
});

it('gathers for as long as it was told, before each turn', async () => {
  const { clock, queue, synced } = begin({ gatherMs: 20 });
  queue.add('a');
  await clock.advance(19);
  queue.add('b');
  expect(synced).toEqual([]);
  await clock.advance(1);
  expect(synced).toEqual(['a', 'b']);
  await queue.close();
});

it('closing ends the turn that runs by its signal, and lets no other begin', async () => {
  const { clock, queue, synced, failures } = begin({
    during: (_key, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  queue.add('a');
  queue.add('b');
  await clock.advance(0);
  await queue.close();
  queue.add('c');
  await clock.advance(600_000);
  expect([synced, failures]).toEqual([['a'], []]);
});
