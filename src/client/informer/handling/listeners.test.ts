import { expect, it } from 'vitest';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import type { AnyObject } from '../../objects/objects.ts';
import type { InformerEvent } from '../informer-event.ts';
import { EventQueue } from './event-queue.ts';
import { added, object } from './informer-events.testing.ts';
import { Listeners } from './listeners.ts';

const deleted = (key: string): InformerEvent<AnyObject> => ({
  ...{ type: 'deleted', key, object: object(key), isTombstone: false },
});

function start() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const listeners = new Listeners<AnyObject>(clock, stop.signal);
  const queue = new EventQueue<AnyObject>(10);
  listeners.join(queue, new Map());
  const leave = () => {
    queue.end();
    listeners.leave(queue);
  };
  /** Whether what was told up to now is handled, as it turns out later. */
  const ask = () => {
    const asked = { isHandled: false };
    listeners.handled(stop.signal).then(
      () => {
        asked.isHandled = true;
      },
      () => {},
    );
    return asked;
  };
  return { clock, stop, listeners, queue, leave, ask };
}

it('one that leaves before it was told of a deletion counts for five minutes', async () => {
  const { clock, listeners, leave, ask } = start();
  listeners.tell([added('a')]);
  const earlier = ask();
  listeners.tell([deleted('b')]);
  const before = ask();
  leave();
  const after = ask();
  await clock.advance(299_999);
  expect(earlier.isHandled).toBe(true); // the next process tells what is there
  expect([before.isHandled, after.isHandled, listeners.isHandled]).toEqual([false, false, false]);
  await clock.advance(1);
  expect([before.isHandled, after.isHandled, listeners.isHandled]).toEqual([true, true, true]);
});

it('a deletion that is being handled when it leaves counts as well, however that ends', async () => {
  const { clock, listeners, queue, leave, ask } = start();
  listeners.tell([deleted('a')]);
  queue.shift();
  leave();
  queue.done();
  const asked = ask();
  await clock.advance(1000);
  expect([asked.isHandled, listeners.isHandled]).toEqual([false, false]);
});

it('one that leaves with anything else, or through with its deletions, holds nobody up', async () => {
  const { clock, listeners, queue, leave, ask } = start();
  listeners.tell([deleted('a'), added('b'), added('c')]);
  queue.shift();
  queue.done();
  queue.shift();
  const asked = ask();
  leave();
  await clock.advance(0);
  expect([asked.isHandled, listeners.isHandled]).toEqual([true, true]);
  expect(clock.sleeping).toBe(0);
});

it('one that left is forgotten when the informer is closed', async () => {
  const { clock, stop, listeners, leave } = start();
  listeners.tell([deleted('a')]);
  leave();
  expect(clock.sleeping).toBe(1);
  stop.abort();
  await clock.advance(0);
  expect(clock.sleeping).toBe(0);
});
