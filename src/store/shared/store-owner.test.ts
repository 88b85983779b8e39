/** How much is on its way to another thread, and how often; all else is in test/contract/shared.test.ts. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { openTemporaryEmbedded } from '../../../test/support/store/embedded-under-test.ts';
import type { Store, WatchBatch } from '../kv.ts';
import type { Order, Report } from './shared-messages.ts';
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

it('the event of a write leaves for other threads before its answer leaves for the one that wrote', async () => {
  let write = () => {};
  let tell = (_: WatchBatch) => {};
  const written = new Promise<void>((resolve) => {
    write = resolve;
  });
  const events = new Promise<WatchBatch>((resolve) => {
    tell = resolve;
  });
  async function* batches() {
    yield await events;
    await new Promise(() => {});
  }
  const store = {
    txn: () => written.then(() => ({ succeeded: true, revision: 2, results: [] })),
    watch: () => Object.assign(batches(), { started: async () => 1, answersProgress: true }),
  } as unknown as Store;
  const sent: string[] = [];
  const attach = (name: string, ...orders: Order[]) => {
    const port = {
      postMessage: (reports: Report[]) => sent.push(...[reports].flat().map(({ kind }) => `${kind} to ${name}`)),
      on: (event: string, hear: (orders: Order[]) => void) => event === 'message' && hear(orders),
      unref: () => {},
    };
    return shareStore(store, port as unknown as MessagePort);
  };
  attach('the writer', { kind: 'call', id: 1, name: 'txn', args: [{}, {}], mayCancel: false });
  const other = attach('the watcher', { kind: 'watch', id: 1, range: { prefix: '/' }, options: {} });
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  await nextTurn();
  await nextTurn();
  sent.length = 0;
  setImmediate(() => other.beside.post('the first of this turn'));
  setImmediate(() => {
    write();
    tell({ revision: 2, events: [] });
  });
  await nextTurn();
  await nextTurn();
  expect(sent).toEqual(['beside to the watcher', 'batch to the watcher', 'answer to the writer']);
});

it('a write is made with a signal where its caller has one, and goes on to its end without', async () => {
  await using embedded = await openTemporaryEmbedded();
  const made = vi.spyOn(embedded.store, 'txn');
  const { port1, port2 } = new MessageChannel();
  shareStore(embedded.store, port1);
  await using store = await openSharedStore(port2);
  const put = (key: string) => ({ then: [{ kind: 'put' as const, key, value: Buffer.of(1) }] });
  await store.txn(put('/a'));
  await store.txn(put('/b'), { signal: new AbortController().signal });
  expect(made.mock.calls.map(([, options]) => options?.signal instanceof AbortSignal)).toEqual([false, true]);
  const last = store.txn(put('/c'));
  last.catch(() => {});
  await store.revision();
  await store.close();
  await expect(made.mock.results[2]!.value).resolves.toMatchObject({ succeeded: true });
});
