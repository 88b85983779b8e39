import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AnyObject } from '../../objects/objects.ts';
import { afterRemove, afterReplace, afterUpsert, type InformerEvent } from '../informer-event.ts';
import { EventQueue } from './event-queue.ts';

const object = (name: string, uid: number, version: number): AnyObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid: `${uid}`, resourceVersion: `${version}`, creationTimestamp: '' },
});

/** What a handler believes that believes every event; throws at one that does not fit. */
class Believer {
  readonly believed = new Map<string, AnyObject>();

  take(event: InformerEvent<AnyObject>): void {
    const { key, type } = event;
    const known = this.believed.get(key);
    if (type === 'added') {
      expect(known).toBeUndefined();
      this.believed.set(key, event.object);
    } else if (type === 'updated') {
      expect(event.old).toBe(known);
      expect(event.object.metadata.uid).toBe(event.old.metadata.uid);
      this.believed.set(key, event.object);
    } else {
      expect(event.object.metadata.uid).toBe(known!.metadata.uid);
      this.believed.delete(key);
    }
  }
}

const names = ['a', 'b', 'c', 'd'] as const;
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('write' as const), name: fc.constantFrom(...names), how: fc.nat(9) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('take' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace' as const), keep: fc.subarray([...names]) }) },
);

it('however slow the handler, each event fits the one before, and the last state is told', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), fc.nat(12), async (steps, limit) => {
      const queue = new EventQueue<AnyObject>(limit);
      const handler = new Believer();
      const truth = new Map<string, AnyObject>();
      let all = 0;
      let version = 0;
      const tell = (events: InformerEvent<AnyObject>[]) => {
        all += events.length;
        for (const event of events) queue.push(event);
      };
      for (const now of steps) {
        version++;
        if (now.do === 'take') {
          const event = queue.shift();
          if (event) handler.take(event);
        } else if (now.do === 'replace') {
          const after = new Map(now.keep.map((name) => [name, truth.get(name) ?? object(name, version, version)]));
          const events = await afterReplace(truth, after, false);
          all += events.length;
          queue.pushAll({ count: events.length, events, has: () => true });
          truth.clear();
          for (const [name, one] of after) truth.set(name, one);
        } else {
          const old = truth.get(now.name);
          const uid = old && now.how !== 0 ? Number(old.metadata.uid) : version; // sometimes another one, unseen
          const next = object(now.name, uid, version);
          if (old && now.how > 6) {
            tell(afterRemove(now.name, old, object(now.name, Number(old.metadata.uid), version)));
            truth.delete(now.name);
          } else {
            tell(afterUpsert(now.name, old, next, now.how % 2 === 1));
            truth.set(now.name, next);
          }
        }
        expect(queue.size).toBeLessThanOrEqual(limit + (3 + 2) * names.length); // two more of a batch
      }
      for (let event = queue.shift(); event; event = queue.shift()) handler.take(event);
      expect(handler.believed).toEqual(truth);
      if (all <= limit) expect(queue.conflated).toBe(0);
    }),
  );
});

it('below the limit nothing is joined', () => {
  const queue = new EventQueue<AnyObject>(3);
  const [one, two, three] = [object('a', 1, 1), object('a', 1, 2), object('a', 1, 3)] as const;
  for (const event of [
    ...afterUpsert('a', undefined, one),
    ...afterUpsert('a', one, two),
    ...afterUpsert('a', two, three),
  ])
    queue.push(event);
  expect([queue.shift(), queue.shift(), queue.shift()]).toMatchObject([
    { type: 'added', object: one },
    { type: 'updated', old: one, object: two },
    { type: 'updated', old: two, object: three },
  ]);
});

it('a whole state is told as its difference, deletions first', async () => {
  const before = new Map([
    ['same', object('same', 1, 1)],
    ['gone', object('gone', 2, 1)],
    ['changed', object('changed', 3, 1)],
    ['other', object('other', 4, 1)],
  ]);
  const after = new Map([
    ['fresh', object('fresh', 5, 2)],
    ['same', before.get('same')!],
    ['changed', object('changed', 3, 2)],
    ['other', object('other', 9, 2)],
  ]);
  const told = (await afterReplace(before, after, false)).map(({ type, key }) => `${type} ${key}`);
  expect(told).toEqual(['deleted gone', 'deleted other', 'added fresh', 'updated changed', 'added other']);
});

it('what was there at the beginning is told to be gone, however much waits: an earlier process may have told of it', () => {
  const queue = new EventQueue<AnyObject>(1);
  const [one, two, three] = [object('a', 1, 1), object('a', 1, 2), object('a', 2, 3)] as const;
  for (const event of [
    ...afterUpsert('a', undefined, one, true),
    ...afterUpsert('a', one, two),
    ...afterRemove('a', two, two),
    ...afterUpsert('a', undefined, three), // comes and goes
    ...afterRemove('a', three, three),
  ])
    queue.push(event);
  expect([queue.shift(), queue.shift(), queue.shift()]).toEqual([
    { type: 'added', key: 'a', object: two, isInitial: true },
    { type: 'deleted', key: 'a', object: two, isTombstone: false },
    undefined,
  ]);
});

it('what comes and goes while a handler stands still leaves nothing behind', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const queue = new EventQueue<AnyObject>(1);
  const [first, passing] = [object('a', 1, 1), object('b', 1, 1)] as const;
  queue.push(afterUpsert('a', undefined, first)[0]!);
  const [comes, goes] = [afterUpsert('b', undefined, passing)[0]!, afterRemove('b', passing, passing)[0]!];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1_000_000; i++) {
    queue.push(comes);
    queue.push(goes);
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 * 1024 * 1024);
  expect([queue.size, queue.shift(), queue.shift()]).toMatchObject([1, { key: 'a' }, undefined]);
});

it('a queue that has ended takes nothing, and lets its reader go', async () => {
  const queue = new EventQueue<AnyObject>(3);
  const waiting = queue.filled();
  queue.end();
  await waiting;
  queue.push({ type: 'added', key: 'a', object: object('a', 1, 1), isInitial: false });
  expect(queue.shift()).toBeUndefined();
});

it('a batch of more than the limit is taken as it lies, in its order and before what comes later', () => {
  const queue = new EventQueue<AnyObject>(2);
  const objects = ['a', 'b', 'c', 'd'].map((name) => object(name, 1, 1));
  const events = objects.flatMap((one) => afterUpsert(one.metadata.name, undefined, one, true));
  queue.pushAll({ count: events.length, events, has: (key) => 'abcd'.includes(key) });
  const { mark } = queue;
  queue.push(afterUpsert('a', objects[0], object('a', 1, 2))[0]!);
  expect([queue.size, queue.has('c'), queue.has('e'), queue.isPast(mark)]).toEqual([5, true, false, false]);
  const taken = Array.from({ length: 4 }, () => queue.shift());
  expect(taken).toEqual(events);
  expect([queue.isPast(mark), queue.hasHandled(mark)]).toEqual([true, false]);
  queue.done();
  expect([queue.hasHandled(mark), queue.hasHandled(queue.mark), queue.shift()?.type]).toEqual([true, false, 'updated']);
});

it('of a batch that is not handled when the queue ends, deletions count', () => {
  const [one, two] = [object('a', 1, 1), object('b', 1, 1)] as const;
  const gone = [...afterRemove('a', one, one), ...afterRemove('b', two, two)];
  const batch = { count: 2, events: gone, has: () => true };
  const started = (taken: number) => {
    const queue = new EventQueue<AnyObject>(1);
    queue.pushAll(batch);
    for (let i = 0; i < taken; i++) {
      queue.shift();
      queue.done();
    }
    queue.end();
    return queue.hasHandled(queue.mark);
  };
  expect([started(0), started(1), started(2)]).toEqual([false, false, true]);
});
