import { expect, it } from 'vitest';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import type { AnyObject } from '../../objects/objects.ts';
import { added, object } from './informer-events.testing.ts';
import { type EventHandler, type HandlerOptions, Subscription } from './subscription.ts';

function start(handler: EventHandler<AnyObject>, options: HandlerOptions<AnyObject> = {}) {
  const clock = new FakeClock();
  const objects = new Map<string, AnyObject>();
  const errors: unknown[] = [];
  const subscription = new Subscription<AnyObject>(handler, options, {
    clock,
    name: 'test',
    objects: () => objects,
    synced: async () => {},
    onError: (error) => void errors.push(error),
    onClose: () => {},
  });
  return { clock, objects, errors, subscription };
}

/** A gate that a handler waits at. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

it('events are handled one at a time, in order', async () => {
  const steps: string[] = [];
  const { subscription } = start(async ({ key }) => {
    steps.push(`begin ${key}`);
    await Promise.resolve();
    steps.push(`end ${key}`);
  });
  for (const key of ['a', 'b']) subscription.push(added(key));
  await subscription.idle();
  expect(steps).toEqual(['begin a', 'end a', 'begin b', 'end b']);
  await subscription[Symbol.asyncDispose]();
});

it('what a handler throws is told, and the next event comes', async () => {
  const bug = new Error('bug');
  const seen: string[] = [];
  const { subscription, errors } = start(({ key }) => {
    seen.push(key);
    if (key === 'a') throw bug;
    return key === 'b' ? Promise.reject(bug) : undefined;
  });
  for (const key of ['a', 'b', 'c']) subscription.push(added(key));
  await subscription.idle();
  expect([seen, errors]).toEqual([
    ['a', 'b', 'c'],
    [bug, bug],
  ]);
  expect(subscription.metrics).toEqual({ name: 'test', backlog: 0, busyMs: 0, delivered: 3, conflated: 0, errors: 2 });
  await subscription[Symbol.asyncDispose]();
});

it('synced() waits for what was there, not for what comes after', async () => {
  const { open, opened } = gate();
  const later = gate();
  const { subscription } = start(({ key }) => (key === 'a' ? opened : later.opened));
  subscription.push(added('a'));
  const synced = subscription.synced();
  let isSynced = false;
  void synced.then(() => {
    isSynced = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isSynced).toBe(false);
  open();
  await synced;
  later.open();
  await subscription[Symbol.asyncDispose]();
});

it('a resync tells every object again, but not one that waits already', async () => {
  const { open, opened } = gate();
  const seen: string[] = [];
  const { subscription, clock, objects } = start(
    async ({ type, key }) => {
      await opened;
      seen.push(`${type} ${key}`);
    },
    { resyncMs: 1000 },
  );
  for (const key of ['a', 'b']) {
    objects.set(key, object(key));
    subscription.push(added(key)); // the first is being handled, the second waits
  }
  await clock.advance(1000);
  open();
  await subscription.idle();
  expect(seen).toEqual(['added a', 'added b', 'updated a']);
  await clock.advance(1000);
  await subscription.idle();
  expect(seen.slice(3)).toEqual(['updated a', 'updated b']);
  await subscription[Symbol.asyncDispose]();
  expect(clock.sleeping).toBe(0);
});

it('disposal forgets what waits, and waits for what is being handled', async () => {
  const seen: string[] = [];
  const { open, opened } = gate();
  const { subscription, errors } = start(async ({ key }) => {
    await opened;
    seen.push(key);
    throw new Error('too late to matter');
  });
  for (const key of ['a', 'b']) subscription.push(added(key));
  await new Promise((resolve) => setImmediate(resolve));
  const gone = subscription[Symbol.asyncDispose]();
  subscription.push(added('c'));
  open();
  await gone;
  await subscription.idle();
  expect([seen, errors]).toEqual([['a'], []]);
  await expect(subscription.synced()).rejects.toThrow('was removed');
});

it('a handler that takes long and never waits leaves others a turn every few events', async () => {
  let handled = 0;
  const turns: number[] = [];
  const { clock, subscription } = start(() => {
    handled++;
  });
  clock.now = () => handled * 4; // ms that the handler computes
  for (let i = 0; i < 9; i++) subscription.push(added(`k-${i}`));
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    turns.push(handled);
  }
  expect(turns).toEqual([3, 6, 9]);
  await subscription[Symbol.asyncDispose]();
});

it('a handler that takes no time is told of every change, however many come in a turn', async () => {
  let handled = 0;
  const { subscription } = start(() => void handled++);
  const states = Array.from({ length: 5001 }, () => object('a'));
  subscription.push({ type: 'added', key: 'a', object: states[0]!, isInitial: false });
  for (let version = 1; version <= 5000; version++) {
    const [old, now] = [states[version - 1]!, states[version]!];
    subscription.push({ type: 'updated', key: 'a', object: now, old, isResync: false });
    if (version % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await subscription.idle();
  expect([handled, subscription.metrics.conflated]).toEqual([5001, 0]);
  await subscription[Symbol.asyncDispose]();
});
