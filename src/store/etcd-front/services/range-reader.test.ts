/** How much a range may take; what it answers is compared with etcd in test/model/etcd-front.test.ts. */
import { MessageChannel } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTemporaryEmbedded } from '../../../../test/support/store/embedded-under-test.ts';
import type { StoreUnderTest } from '../../../../test/support/store/store-under-test.ts';
import { Writer } from '../../../api/protobuf.ts';
import type { Store } from '../../kv.ts';
import { openSharedStore } from '../../shared/shared-store.ts';
import { shareStore } from '../../shared/store-owner.ts';
import { MemoryBudget } from '../memory-budget.ts';
import { decodeRangeRequest } from '../messages/front-requests.ts';
import { MAX_ANSWER_BYTES, readRange } from './range-reader.ts';

const MEBIBYTE = 1024 * 1024;
let embedded: StoreUnderTest;
let shared: Store;
beforeAll(async () => {
  embedded = await openTemporaryEmbedded();
  for (const key of ['/a/1', '/a/2', '/a/3'])
    await embedded.store.txn({ then: [{ kind: 'put', key, value: Buffer.alloc(MEBIBYTE) }] });
  const { port1, port2 } = new MessageChannel();
  shareStore(embedded.store, port1);
  shared = await openSharedStore(port2);
});
afterAll(async () => {
  await shared.close();
  await embedded[Symbol.asyncDispose]();
});

const { signal } = new AbortController();
const everything = (write: (writer: Writer) => void = () => {}) => {
  const writer = new Writer().string(1, '/a/').string(2, '/a0');
  write(writer);
  return decodeRangeRequest(writer.finish());
};
const tooMany = { code: 8, message: 'etcdserver: too many requests' };

describe.each([
  ['of this thread', () => embedded.store],
  ['of another thread', () => shared],
])('of a store %s', (_claim, store) => {
  it('what is read counts, and what is too much for all calls together is refused', async () => {
    const budget = new MemoryBudget(4 * MEBIBYTE);
    const [one, other] = [budget.share(), budget.share()];
    await readRange(store(), everything(), { signal, memory: one });
    expect(one.bytes).toBeGreaterThan(3 * MEBIBYTE);
    await expect(readRange(store(), everything(), { signal, memory: other })).rejects.toMatchObject(tooMany);
    one[Symbol.dispose]();
    other[Symbol.dispose]();
    expect(budget.usedBytes).toBe(0);
  });

  it('keys without values count, too, before they are made', async () => {
    const memory = new MemoryBudget(500).share();
    const keysOnly = everything((writer) => writer.bool(8, true));
    await expect(readRange(store(), keysOnly, { signal, memory })).rejects.toMatchObject(tooMany);
    const countOnly = everything((writer) => writer.bool(9, true));
    expect(await readRange(store(), countOnly, { signal, memory })).toMatchObject({ count: 3 });
  });

  it('one answer has a limit of its own', async () => {
    const memory = new MemoryBudget(4 * MAX_ANSWER_BYTES).share();
    memory.add(MAX_ANSWER_BYTES - 2 * MEBIBYTE);
    await expect(readRange(store(), everything(), { signal, memory })).rejects.toMatchObject({
      code: 8,
      message: expect.stringMatching(/^grpc: trying to send message larger than max \(\d+ vs. 536870912\)$/),
    });
  });
});
