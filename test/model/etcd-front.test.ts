/**
 * The front beside a real etcd, both asked the same by gRPC's own client: random requests, refusals and watches get the
 * same answers, but for the ids.
 */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdFront, startEtcdFront } from '../../src/store/etcd-front/etcd-front.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../support/etcd-server.ts';
import { openTemporaryEmbedded } from '../support/store/embedded-under-test.ts';
import { etcdFronts } from '../support/store/etcd-fronts.ts';
import type { StoreUnderTest } from '../support/store/store-under-test.ts';
import { type Answer, EtcdGrpc } from './etcd-grpc.ts';
import { bytes, request } from './etcd-requests.ts';

const version = etcdVersion();
/** Small enough to be read as a number. */
const LEASE = 1234;

describe.each(etcdFronts)('a store served as an etcd %s:', (_where, startFront) => {
  let embedded: StoreUnderTest;
  let front: EtcdFront;
  let ours: EtcdGrpc;
  let etcd: EtcdCluster | undefined;
  let theirs: EtcdGrpc | undefined;
  beforeAll(async () => {
    embedded = await openTemporaryEmbedded();
    front = await startFront(embedded.store);
    ours = new EtcdGrpc(front.urls[0]!);
    if (version === undefined) return;
    etcd = await startEtcd();
    theirs = new EtcdGrpc(etcd.urls[0]!);
  });
  afterAll(async () => {
    ours[Symbol.dispose]();
    theirs?.[Symbol.dispose]();
    await front[Symbol.asyncDispose]();
    await embedded[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
  });

  describe.skipIf(version === undefined)(`beside etcd ${version ?? 'which is not on the PATH'}`, () => {
    const both = async (service: string, method: string, asked: object) => {
      const [mine, real] = await Promise.all([ours, theirs!].map((client) => client.ask(service, method, asked)));
      expect(mine, `${method} ${JSON.stringify(asked)}`).toEqual(real);
      return real!;
    };

    it('a store that was never compacted is at -1, within a transaction and for the first compaction', async () => {
      const readAt = (revision: number) => ({ success: [{ range: { key: bytes('a'), revision } }] });
      expect((await both('KV', 'Txn', readAt(-1))).error).toBeUndefined();
      expect((await both('KV', 'Txn', readAt(-2))).error).toMatch(/compacted/);
      const changing = (revision: number) => ({
        success: [...readAt(revision).success, { del: { key: bytes('none') } }],
      });
      expect((await both('KV', 'Txn', changing(-1))).error).toBeUndefined();
      expect((await both('KV', 'Txn', changing(-2))).error).toMatch(/compacted/);
      expect((await both('KV', 'Range', { key: bytes('a'), revision: -2 })).error).toBeUndefined();
    });

    it('random requests get the same answers, and a watch sees the same history', async () => {
      const histories = [ours, theirs!].map((client) => watchAll(client));
      await Promise.all([ours, theirs!].map((client) => client.ask('Lease', 'LeaseGrant', { id: LEASE, ttl: 5000 })));
      let now = await revisionOf(ours);
      const toldAt = (answer: Answer) => (answer.header as { revision: number } | undefined)?.revision ?? now;
      await fc.assert(
        fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 20 }), async (requests) => {
          for (const [service, method, make] of requests)
            now = Math.max(now, toldAt(await both(service, method, make(now))));
        }),
        { numRuns: 150 },
      );
      await both('KV', 'Put', { key: bytes('last'), value: bytes('') });
      const [mine, real] = await Promise.all(histories);
      expect(mine).toEqual(real);
      expect(mine!.length).toBeGreaterThan(100);
    }, 100_000);

    const put = (key: string, more: object = {}) => ({ put: { key: bytes(key), ...more } });
    const range = (key: string, more: object = {}) => ({ range: { key: bytes(key), ...more } });
    const noLease = { lease: 96 };
    it.each<[claim: string, service: string, method: string, asked: object]>([
      ['no key', 'KV', 'Range', {}],
      ['no key to put', 'KV', 'Put', { value: bytes('x') }],
      ['no key to delete', 'KV', 'DeleteRange', {}],
      ['no key before an order', 'KV', 'Range', { sort_order: 9 }],
      ['a revision to come', 'KV', 'Range', { key: bytes('a'), revision: 1e9 }],
      ['a revision to come, of nothing', 'KV', 'Range', { key: bytes('b'), range_end: bytes('a'), revision: 1e9 }],
      ['a revision to come, counted', 'KV', 'Range', { key: bytes('a'), revision: 1e9, count_only: true }],
      ['a compaction to come', 'KV', 'Compact', { revision: 1e9 }],
      ['a compaction below zero', 'KV', 'Compact', { revision: -1 }],
      ['an unknown lease', 'KV', 'Put', { key: bytes('a'), ...noLease }],
      ['a value beside ignore_value', 'KV', 'Put', { key: bytes('a'), value: bytes('x'), ignore_value: true }],
      ['a lease beside ignore_lease', 'KV', 'Put', { key: bytes('a'), ignore_lease: true, ...noLease }],
      ['ignore_value of nothing', 'KV', 'Put', { key: bytes('nothing'), ignore_value: true }],
      ['ignore_value of nothing, and no lease', 'KV', 'Put', { key: bytes('nothing'), ignore_value: true, ...noLease }],
      ['the same in a transaction', 'KV', 'Txn', { success: [put('nothing', { ignore_value: true, ...noLease })] }],
      ['an empty operation', 'KV', 'Txn', { success: [{}] }],
      ['an empty compare', 'KV', 'Txn', { compare: [{}], success: [{}] }],
      ['an empty operation in the other branch', 'KV', 'Txn', { success: [range('a')], failure: [{}] }],
      ['no key before an empty operation', 'KV', 'Txn', { success: [range(''), {}] }],
      ['an empty operation before no key', 'KV', 'Txn', { success: [{}, range('')] }],
      ['a key put twice', 'KV', 'Txn', { success: [put('a'), put('a')] }],
      ['a key put twice, and one too few', 'KV', 'Txn', { success: [put('a'), put('a'), put('')] }],
      ['a key put twice, and a lease', 'KV', 'Txn', { success: [put('a', noLease), put('a', noLease)] }],
      ['a lease after a revision', 'KV', 'Txn', { success: [range('a', { revision: 1e9 }), put('a', noLease)] }],
      ['a revision after a lease', 'KV', 'Txn', { success: [put('a', noLease), range('a', { revision: 1e9 })] }],
      ['a revision, of nothing', 'KV', 'Txn', { success: [range('b', { range_end: bytes('a'), revision: 1e9 })] }],
      ['too many operations', 'KV', 'Txn', { success: Array(129).fill(range('a')) }],
      ['too many of them before no key', 'KV', 'Txn', { success: Array(129).fill(range('')) }],
      ['too many compares', 'KV', 'Txn', { compare: Array(129).fill({ key: bytes('a') }) }],
      ['too many within', 'KV', 'Txn', { success: [{ txn: { success: Array(128).fill(range('a')) } }] }],
      ['a key twice within', 'KV', 'Txn', { success: [put('a'), { txn: { failure: [put('a')] } }] }],
      ['too much', 'KV', 'Put', { key: bytes('a'), value: Buffer.alloc(1.6 * 1024 * 1024) }],
      [
        'too much before its lease',
        'KV',
        'Put',
        { key: bytes('a'), value: Buffer.alloc(1.6 * 1024 * 1024), ...noLease },
      ],
      ['no key before too much', 'KV', 'Put', { value: Buffer.alloc(1.6 * 1024 * 1024) }],
      ['too much to delete', 'KV', 'DeleteRange', { key: Buffer.alloc(1.6 * 1024 * 1024, 1) }],
      ['too much in a transaction', 'KV', 'Txn', { failure: [put('a', { value: Buffer.alloc(1.6 * 1024 * 1024) })] }],
      [
        'a key twice before too much',
        'KV',
        'Txn',
        { success: [put('a', { value: Buffer.alloc(1.6 * 1024 * 1024) }), put('a')] },
      ],
      ['far too much', 'KV', 'Put', { key: bytes('a'), value: Buffer.alloc(2.2 * 1024 * 1024) }],
      ['far too much before no key', 'KV', 'Put', { value: Buffer.alloc(2.2 * 1024 * 1024) }],
      ['a lease that is none', 'Lease', 'LeaseRevoke', { id: 96 }],
      ['a lease for ever', 'Lease', 'LeaseGrant', { ttl: 9_000_000_001 }],
      ['a lease for ever that exists', 'Lease', 'LeaseGrant', { ttl: 9_000_000_001, id: LEASE }],
      ['a lease that exists', 'Lease', 'LeaseGrant', { ttl: -5, id: LEASE }],
    ])('%s is refused in the same words', async (_claim, service, method, asked) => {
      await Promise.all([ours, theirs!].map((client) => client.ask('Lease', 'LeaseGrant', { id: LEASE, ttl: 5000 })));
      expect((await both(service, method, asked)).error).toBeDefined();
    });

    it.each<[claim: string, service: string, method: string, asked: object]>([
      [
        'an order of which etcd knows nothing',
        'KV',
        'Range',
        { key: bytes('a'), range_end: bytes('\0'), sort_order: 7, limit: 1 },
      ],
      ['a read of more than may be written', 'KV', 'Txn', { success: [range('x'.repeat(1.6 * 1024 * 1024))] }],
      [
        'a compare of which etcd knows nothing',
        'KV',
        'Txn',
        { compare: [{ key: bytes('a'), target: 9 }], success: [range('a')] },
      ],
      [
        'a result of which etcd knows nothing',
        'KV',
        'Txn',
        { compare: [{ key: bytes('a'), result: 9 }], success: [range('a')] },
      ],
      [
        'a compare with what was said of another',
        'KV',
        'Txn',
        { compare: [{ key: bytes('none'), target: 2, version: 5 }] },
      ],
      ['a lease that is not known', 'Lease', 'LeaseTimeToLive', { id: 97 }],
    ])('%s is answered alike', async (_claim, service, method, asked) => {
      expect((await both(service, method, asked)).error).toBeUndefined();
    });

    it('what may be written is the same to some bytes: the id of a request has nine or ten', async () => {
      const limit = 1.5 * 1024 * 1024;
      for (const size of [limit - 40, limit - 10])
        await both('KV', 'Put', { key: bytes('large'), value: Buffer.alloc(size) });
    });

    it('the time a lease has left is told in whole seconds, what has begun left out', async () => {
      await Promise.all([ours, theirs!].map((client) => client.ask('Lease', 'LeaseGrant', { id: 55, ttl: 1000 })));
      const left = await Promise.all(
        [ours, theirs!].map((client) => client.ask('Lease', 'LeaseTimeToLive', { id: 55 })),
      );
      expect(left.map(({ ttl }) => ttl)).toEqual([999, 999]);
    });
  });

  describe('the front', () => {
    it('carries several watches on one stream, told apart by id, filtered, cancelled', async () => {
      const watching = new Watching(ours.stream('Watch', 'Watch'));
      const start = await revisionOf(ours);
      watching.write({ create: { key: bytes('w'), range_end: bytes('x'), prev_kv: true } });
      expect(await watching.next()).toMatchObject({ created: true, watch_id: 0 });
      watching.write({ create: { key: bytes('w1'), watch_id: 7, filters: [0] } });
      expect(await watching.next()).toMatchObject({ created: true, watch_id: 7 });
      watching.write({ create: { key: bytes('w1'), watch_id: 7 } });
      expect(await watching.next()).toMatchObject({
        created: true,
        canceled: true,
        watch_id: -1,
        cancel_reason: expect.stringMatching('duplicate'),
      });
      watching.write({ create: { key: bytes('b'), range_end: bytes('a') } });
      expect(await watching.next()).toMatchObject({ canceled: true, cancel_reason: 'mvcc: watcher range is empty' });

      await ours.ask('KV', 'Put', { key: bytes('w1'), value: bytes('one') });
      expect(eventsOf(await watching.next())).toEqual([[0, start + 1, 'put', 'w1', 'one', '']]);
      await ours.ask('KV', 'DeleteRange', { key: bytes('w1') });
      const both = [await watching.next(), await watching.next()].flatMap(eventsOf).sort();
      expect(both).toEqual([
        [0, start + 2, 'delete', 'w1', '', 'one'],
        [7, start + 2, 'delete', 'w1', '', ''],
      ]);

      watching.write({ progress: {} });
      expect(await watching.next()).toMatchObject({ watch_id: -1, events: [], header: { revision: start + 2 } });
      watching.write({ cancel: { watch_id: 0 } });
      expect(await watching.next()).toMatchObject({ watch_id: 0, canceled: true });
      await ours.ask('KV', 'Put', { key: bytes('w2'), value: bytes('unheard') });
      watching.write({ progress: {} });
      expect(await watching.next()).toMatchObject({ watch_id: -1, header: { revision: start + 3 } });
      watching.cancel();
    });

    it('answers no progress while a watch is of the future, and then it does', async () => {
      const watching = new Watching(ours.stream('Watch', 'Watch'));
      const start = await revisionOf(ours);
      watching.write({ create: { key: bytes('f'), start_revision: start + 2 } });
      expect(await watching.next()).toMatchObject({ created: true });
      watching.write({ progress: {} });
      await ours.ask('KV', 'Put', { key: bytes('g') });
      await ours.ask('KV', 'Put', { key: bytes('f'), value: bytes('now') });
      let next = await watching.next();
      if (eventsOf(next).length === 0) {
        // The store was looked at between the two writes: then there was nothing yet that the watch is to tell of.
        expect(next).toMatchObject({ watch_id: -1, header: { revision: start + 1 } });
        next = await watching.next();
      }
      expect(eventsOf(next)).toEqual([[0, start + 2, 'put', 'f', 'now', '']]);
      watching.cancel();
    });

    it('ends a watch of what is compacted, with the revision from which one can go on', async () => {
      for (let i = 0; i < 3; i++) await ours.ask('KV', 'Put', { key: bytes('c'), value: bytes(String(i)) });
      const now = await revisionOf(ours);
      await ours.ask('KV', 'Compact', { revision: now });
      const watching = new Watching(ours.stream('Watch', 'Watch'));
      watching.write({ create: { key: bytes('c'), start_revision: now - 2 } });
      expect(await watching.next()).toMatchObject({ created: true });
      expect(await watching.next()).toMatchObject({ canceled: true, compact_revision: now });
      watching.cancel();
    });

    it('has one member, healthy and leading, and the same hash for the same content', async () => {
      const status = await ours.ask('Maintenance', 'Status', {});
      expect(status).toMatchObject({ version: expect.stringMatching(/^3\.\d+\.\d+$/) });
      expect(String(status.leader)).not.toBe('0');
      expect(await ours.ask('Cluster', 'MemberList', {})).toMatchObject({ members: [{ client_urls: front.urls }] });
      expect((await ours.ask('Maintenance', 'Alarm', {})).error).toBeUndefined();
      const hash = async () => (await ours.ask('Maintenance', 'HashKV', {})).hash;
      const before = await hash();
      expect(await hash()).toBe(before);
      await ours.ask('KV', 'Put', { key: bytes('h'), value: bytes('another') });
      expect(await hash()).not.toBe(before);
    });

    it('grants leases, keeps them alive, tells of them, and takes their keys with them', async () => {
      const id = 4242;
      expect(await ours.ask('Lease', 'LeaseGrant', { ttl: 100, id })).toMatchObject({ id, ttl: 100 });
      await ours.ask('KV', 'Put', { key: bytes('l'), value: bytes('x'), lease: id });
      expect(await ours.ask('Lease', 'LeaseTimeToLive', { id, keys: true })).toMatchObject({
        granted: 100,
        keys: [base64('l')],
      });
      const alive = new Watching(ours.stream('Lease', 'LeaseKeepAlive'));
      alive.write({ id });
      expect(await alive.next()).toMatchObject({ id, ttl: 100 });
      alive.write({ id: 4711 });
      expect(await alive.next()).toMatchObject({ ttl: 0 });
      alive.cancel();
      expect(await ours.ask('Lease', 'LeaseGrant', { ttl: -7 })).toMatchObject({ ttl: 2 });
      await ours.ask('Lease', 'LeaseRevoke', { id });
      expect(await ours.ask('KV', 'Range', { key: bytes('l') })).toMatchObject({ kvs: [], count: 0 });
      expect(await ours.ask('Lease', 'LeaseTimeToLive', { id })).toMatchObject({ ttl: -1 });
    });

    it('ends its watches when it is closed, and says why', async () => {
      const other = await startFront(embedded.store);
      using client = new EtcdGrpc(other.urls[0]!);
      const watching = new Watching(client.stream('Watch', 'Watch'));
      watching.write({ create: { key: bytes('w') } });
      expect(await watching.next()).toMatchObject({ created: true });
      const end = expect(watching.next()).rejects.toMatchObject({ code: 14, details: 'etcdserver: server stopped' });
      await other[Symbol.asyncDispose]();
      await end;
    });

    it.each<[claim: string, asked: object]>([
      ['by itself', { key: bytes('a'), sort_target: 7 }],
      ['with an order', { key: bytes('a'), sort_target: -1, sort_order: 1 }],
    ])('refuses to sort by what is unknown, of which etcd 3.5 dies, %s', async (_claim, asked) => {
      expect((await ours.ask('KV', 'Range', asked)).error).toBe('3 etcdserver: invalid sort option');
      const within = { success: [{ range: { key: bytes('a') } }], failure: [{ txn: { failure: [{ range: asked }] } }] };
      expect((await ours.ask('KV', 'Txn', within)).error).toBe('3 etcdserver: invalid sort option');
    });

    // These are of etcd 3.5 and later: what 3.4 does is not the same.
    it('refuses a watch from below zero as one of what is compacted, and answers no progress where there is no watch', async () => {
      const watching = new Watching(ours.stream('Watch', 'Watch'));
      watching.write({ progress: {} });
      watching.write({ create: { key: bytes('b'), range_end: bytes('a'), start_revision: -1 } });
      expect(await watching.next()).toMatchObject({
        ...{ created: true, canceled: true, watch_id: -1 },
        cancel_reason: 'etcdserver: mvcc: required revision has been compacted',
      });
      watching.cancel();
    });
  });
});

it('the front listens in the clear on loopback only, and says what else to do', async () => {
  await using embedded = await openTemporaryEmbedded();
  const start = (url: string) => startEtcdFront(embedded.store, { urls: [url] });
  await expect(start('http://0.0.0.0:0')).rejects.toThrow(
    /Cannot serve the store as etcd at "http:\/\/0.0.0.0:0": without TLS/,
  );
  await expect(start('https://127.0.0.1:0')).rejects.toThrow(/https:\/\/ needs certificates/);
  await expect(start('127.0.0.1:2379')).rejects.toThrow(/it is no URL, write it as/);
  await expect(start('http://127.0.0.1:2379/v3')).rejects.toThrow(/something after its host and port/);
});

async function revisionOf(client: EtcdGrpc): Promise<number> {
  return ((await client.ask('KV', 'Range', { key: bytes('x') })).header as { revision: number }).revision;
}

const base64 = (text: string) => bytes(text).toString('base64');
const text = (value: unknown) => Buffer.from(String(value ?? ''), 'base64').toString('latin1');
type Kv = { key: string; value: string; mod_revision: number };

function eventsOf(answer: Answer): unknown[][] {
  return (answer.events as { type: number; kv: Kv; prev_kv: Kv | null }[]).map(({ type, kv, prev_kv }) => [
    ...[answer.watch_id, kv.mod_revision, type === 1 ? 'delete' : 'put', text(kv.key), text(kv.value)],
    text(prev_kv?.value),
  ]);
}

/** Answers one by one, as they come. */
class Watching {
  readonly #stream: ClientDuplexStream<object, Answer>;
  readonly #answers: AsyncIterator<Answer>;
  constructor(stream: ClientDuplexStream<object, Answer>) {
    this.#stream = stream;
    this.#answers = stream[Symbol.asyncIterator]();
  }
  write(request: object): void {
    this.#stream.write(request);
  }
  async next(): Promise<Answer> {
    return (await this.#answers.next()).value;
  }
  cancel(): void {
    this.#stream.cancel();
  }
}

/** Read all the while: what falls behind a compaction is told of no more. */
async function watchAll(client: EtcdGrpc) {
  const watching = new Watching(client.stream('Watch', 'Watch'));
  watching.write({ create: { key: bytes('\0'), range_end: bytes('\0'), start_revision: 1, prev_kv: true } });
  expect(await watching.next()).toMatchObject({ created: true });
  const seen: unknown[][] = [];
  const read = async () => {
    while (seen[seen.length - 1]?.[3] !== 'last') {
      const answer = await watching.next();
      expect(answer.canceled).toBe(false);
      seen.push(...eventsOf(answer));
    }
    watching.cancel();
    return seen;
  };
  return read();
}
