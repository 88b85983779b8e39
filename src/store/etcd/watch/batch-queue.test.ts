import { describe, expect, it } from 'vitest';
import type { WatchBatch, WatchEvent } from '../../kv.ts';
import { BatchQueue } from './batch-queue.ts';

const kv = { key: 'k', value: new Uint8Array(0), createRevision: 1, modRevision: 1, version: 1, lease: 0n };
const anEvent: WatchEvent = { type: 'put', kv, prevKv: undefined };
const batch = (revision: number): WatchBatch => ({ revision, events: [anEvent] });
const progress = (revision: number): WatchBatch => ({ revision, events: [] });
const revisionOf = async (queue: BatchQueue) => (await queue.next()).value?.revision;

describe('BatchQueue', () => {
  it('gives batches in order, to readers that came before and after', async () => {
    const queue = new BatchQueue(100, () => {});
    const early = [queue.next(), queue.next()];
    for (const revision of [1, 2, 3]) queue.push(batch(revision), 10);
    expect((await Promise.all(early)).map(({ value }) => value?.revision)).toEqual([1, 2]);
    expect(await revisionOf(queue)).toBe(3);
  });

  it('tells when it is full, and once when it has shrunk to half', async () => {
    let drained = 0;
    const queue = new BatchQueue(100, () => drained++);
    for (let i = 1; i <= 10; i++) {
      expect(queue.isFull).toBe(false);
      queue.push(batch(i), 10);
    }
    expect(queue.isFull).toBe(true);
    for (let i = 1; i <= 4; i++) await queue.next();
    expect(drained).toBe(0);
    await queue.next();
    expect(drained).toBe(1);
    for (let i = 6; i <= 10; i++) expect(await revisionOf(queue)).toBe(i);
    expect([drained, queue.bytes]).toEqual([1, 0]);
  });

  it('keeps only the newest of progress that nobody read', async () => {
    const queue = new BatchQueue(100, () => {});
    for (const one of [batch(1), progress(2), progress(3), batch(4), progress(5)]) queue.push(one, 1);
    expect([await revisionOf(queue), await revisionOf(queue), await revisionOf(queue)]).toEqual([1, 3, 4]);
  });

  it('keeps its order over many batches', async () => {
    const queue = new BatchQueue(1e9, () => {});
    for (let i = 0; i < 5000; i++) queue.push(batch(i), 1);
    for (let i = 0; i < 5000; i++) expect((await queue.next()).value?.revision).toBe(i);
  });

  it('finishes after what is queued, with its error once', async () => {
    const queue = new BatchQueue(100, () => {});
    queue.push(batch(1), 1);
    queue.finish(new Error('over'));
    queue.push(batch(2), 1);
    expect(await revisionOf(queue)).toBe(1);
    await expect(queue.next()).rejects.toThrow('over');
    await expect(queue.next()).resolves.toEqual({ value: undefined, done: true });
  });

  it('is cut before what is queued, also when it was finishing', async () => {
    const queue = new BatchQueue(100, () => {});
    queue.push(batch(1), 1);
    queue.finish(new Error('later'));
    queue.cut(new Error('now'));
    await expect(queue.next()).rejects.toThrow('now');
    expect((await queue.next()).done).toBe(true);
  });

  it('ends quietly for all who wait when it is cut without an error; of an error one of them learns', async () => {
    const quiet = new BatchQueue(100, () => {});
    const waiting = [quiet.next(), quiet.next()];
    quiet.cut();
    expect((await Promise.all(waiting)).map(({ done }) => done)).toEqual([true, true]);

    const failing = new BatchQueue(100, () => {});
    const settled = Promise.allSettled([failing.next(), failing.next()]);
    failing.finish(new Error('over'));
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
