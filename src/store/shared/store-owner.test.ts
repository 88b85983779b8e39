/** How much is on its way to another thread, and how often; all else is in test/contract/shared.test.ts. */
import { MessageChannel } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { openTemporaryEmbedded } from '../../../test/support/store/embedded-under-test.ts';
import { openSharedStore } from './shared-store.ts';
import { shareStore } from './store-owner.ts';

const KIBIBYTE = 1024;

it('ranges that are counted are refused beyond the room on their way, and read again when there is some', async () => {
  await using embedded = await openTemporaryEmbedded();
  for (const key of ['/a/1', '/a/2', '/a/3'])
    await embedded.store.txn({ then: [{ kind: 'put', key, value: Buffer.alloc(KIBIBYTE, key) }] });
  const { port1, port2 } = new MessageChannel();
  shareStore(embedded.store, port1, 4 * KIBIBYTE);
  await using store = await openSharedStore(port2);
  let claimed = 0;
  const read = () =>
    store.range(
      { prefix: '/a/' },
      {
        claim: (bytes) => {
          claimed += bytes;
        },
      },
    );

  const { kvs } = await read();
  expect(kvs.map(({ value }) => value.buffer instanceof SharedArrayBuffer)).toEqual([true, true, true]);
  expect(claimed).toBeGreaterThan(3 * KIBIBYTE);

  const refused = { status: 'rejected', reason: { code: 'TooManyRequests' } };
  const both = await Promise.allSettled([read(), read()]);
  expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject(refused);
  expect((await read()).count).toBe(3);

  const given = new AbortController();
  const left = store.range({ prefix: '/a/' }, { claim: () => {}, signal: given.signal });
  given.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await store.revision(); // its answer comes after what was left
  expect((await read()).count).toBe(3);
});

it('who asks for the revision before the next message leaves is answered by one question, who asks later by another', async () => {
  await using embedded = await openTemporaryEmbedded();
  const asked = vi.spyOn(embedded.store, 'revision');
  const { port1, port2 } = new MessageChannel();
  shareStore(embedded.store, port1);
  await using store = await openSharedStore(port2);
  const answers: Promise<number>[] = [];
  const callbacks = Array.from(
    { length: 5 },
    () => new Promise<void>((resolve) => setImmediate(() => resolve(void answers.push(store.revision())))),
  );
  await Promise.all(callbacks);
  expect(new Set(await Promise.all(answers)).size).toBe(1);
  expect(asked).toHaveBeenCalledTimes(2); // the first leaves at once, the others at the end of the turn
  const { revision } = await embedded.store.txn({ then: [{ kind: 'put', key: '/a', value: Buffer.of(1) }] });
  expect(await store.revision()).toBe(revision);
  expect(asked).toHaveBeenCalledTimes(3);
});
