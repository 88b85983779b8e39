/**
 * The front beside a real etcd, both asked the same by gRPC's own client: random requests, refusals and watches get the
 * same answers, but for the ids.
 */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdFront, startEtcdFront } from '../../src/store/etcd-front/etcd-front.ts';
import { openTemporaryEmbedded } from '../contract/embedded-under-test.ts';
import type { StoreUnderTest } from '../contract/store-under-test.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../etcd-server.ts';
import { type Answer, EtcdGrpc } from './etcd-grpc.ts';

const version = etcdVersion();

let embedded: StoreUnderTest;
let front: EtcdFront;
let ours: EtcdGrpc;
let etcd: EtcdCluster | undefined;
let theirs: EtcdGrpc | undefined;
beforeAll(async () => {
  embedded = await openTemporaryEmbedded();
  front = await startEtcdFront(embedded.store, { urls: ['http://127.0.0.1:0'] });
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

const bytes = (text: string) => Buffer.from(text, 'latin1');
const key = fc.constantFrom('a', 'b', 'b\0', 'ba', 'c', '\xff').map(bytes);
const end = fc.constantFrom(undefined, '\0', 'b', 'c', '\xff\xff').map((text) => text && bytes(text));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const withoutUndefined = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined && field !== ''));

const range = fc
  .record({
    key,
    range_end: end,
    limit: maybe(fc.nat(4)),
    sort_order: maybe(fc.nat(2)),
    sort_target: maybe(fc.nat(4)),
    keys_only: maybe(fc.boolean()),
    count_only: maybe(fc.boolean()),
    serializable: maybe(fc.boolean()),
  })
  .map(withoutUndefined);
const put = fc
  .record({ key, value: fc.string({ maxLength: 4 }).map(bytes), prev_kv: maybe(fc.boolean()) })
  .map(withoutUndefined);
const keeping = fc.record({ key, ignore_value: fc.constant(true), prev_kv: maybe(fc.boolean()) }).map(withoutUndefined);
const del = fc.record({ key, range_end: end, prev_kv: maybe(fc.boolean()) }).map(withoutUndefined);
const op = fc.oneof(
  range.map((request) => ({ range: request })),
  put.map((request) => ({ put: request })),
  // Without an end it is overlooked by etcd when keys are checked for being changed twice, but not by the store.
  del.filter(({ range_end }) => String(range_end) !== '\0').map((request) => ({ del: request })),
);
const compare = fc
  .oneof(
    fc.record({ result: fc.nat(3), target: fc.constant(0), key, range_end: end, version: fc.nat(3) }),
    fc.record({
      result: fc.nat(3),
      target: fc.constant(3),
      key,
      range_end: end,
      value: fc.string({ maxLength: 2 }).map(bytes),
    }),
    fc.record({ result: fc.nat(3), target: fc.constant(2), key, mod_revision: fc.nat(2) }),
  )
  .map(withoutUndefined);
const txn = fc.record({
  compare: fc.array(compare, { maxLength: 3 }),
  success: fc.array(op, { maxLength: 4 }),
  failure: fc.array(op, { maxLength: 2 }),
});
const request = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('Put'), put) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('Put'), keeping) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('Range'), range) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('DeleteRange'), del) },
  { weight: 5, arbitrary: fc.tuple(fc.constant('Txn'), txn) },
);

describe.skipIf(version === undefined)(`beside etcd ${version ?? 'which is not on the PATH'}`, () => {
  it('random requests get the same answers, and a watch sees the same history', async () => {
    const histories = await Promise.all([ours, theirs!].map((client) => watchAll(client)));
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 20 }), async (requests) => {
        for (const [method, asked] of requests) {
          const [mine, real] = await Promise.all([ours, theirs!].map((client) => client.ask('KV', method, asked)));
          expect(mine, `${method} ${JSON.stringify(asked)}`).toEqual(real);
        }
      }),
      { numRuns: 60 },
    );
    const last = (await ours.ask('KV', 'Put', { key: bytes('last'), value: bytes('') })).header as { revision: number };
    await theirs!.ask('KV', 'Put', { key: bytes('last'), value: bytes('') });
    const [mine, real] = await Promise.all(histories.map((history) => history.upTo(last.revision)));
    expect(mine).toEqual(real);
    expect(mine!.length).toBeGreaterThan(100);
  }, 60_000);

  it.each<[claim: string, service: string, method: string, asked: object]>([
    ['no key', 'KV', 'Range', {}],
    ['no key to put', 'KV', 'Put', { value: bytes('x') }],
    ['a revision to come', 'KV', 'Range', { key: bytes('a'), revision: 1e9 }],
    ['a compaction to come', 'KV', 'Compact', { revision: 1e9 }],
    ['a compaction below zero', 'KV', 'Compact', { revision: -1 }],
    ['an unknown lease', 'KV', 'Put', { key: bytes('a'), lease: 99 }],
    ['a value beside ignore_value', 'KV', 'Put', { key: bytes('a'), value: bytes('x'), ignore_value: true }],
    ['ignore_value of nothing', 'KV', 'Put', { key: bytes('nothing'), ignore_value: true }],
    ['an empty operation', 'KV', 'Txn', { success: [{}] }],
    ['a key put twice', 'KV', 'Txn', { success: [{ put: { key: bytes('a') } }, { put: { key: bytes('a') } }] }],
    ['too many operations', 'KV', 'Txn', { success: Array(129).fill({ range: { key: bytes('a') } }) }],
    ['too much', 'KV', 'Put', { key: bytes('a'), value: Buffer.alloc(1.6 * 1024 * 1024) }],
    ['far too much', 'KV', 'Put', { key: bytes('a'), value: Buffer.alloc(2.2 * 1024 * 1024) }],
    ['a lease that is none', 'Lease', 'LeaseRevoke', { id: 99 }],
    ['a lease for ever', 'Lease', 'LeaseGrant', { ttl: 9_000_000_001 }],
  ])('%s is refused in the same words', async (_claim, service, method, asked) => {
    const [mine, real] = await Promise.all([ours, theirs!].map((client) => client.ask(service, method, asked)));
    expect(real!.error).toBeDefined();
    expect(mine).toEqual(real);
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
    expect(eventsOf(await watching.next())).toEqual([[0, start + 2, 'put', 'f', 'now', '']]);
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
    await ours.ask('Lease', 'LeaseRevoke', { id });
    expect(await ours.ask('KV', 'Range', { key: bytes('l') })).toMatchObject({ kvs: [], count: 0 });
    expect(await ours.ask('Lease', 'LeaseTimeToLive', { id })).toMatchObject({ ttl: -1 });
  });

  it('ends its watches when it is closed, and says why', async () => {
    const other = await startEtcdFront(embedded.store, { urls: ['http://127.0.0.1:0'] });
    using client = new EtcdGrpc(other.urls[0]!);
    const watching = new Watching(client.stream('Watch', 'Watch'));
    watching.write({ create: { key: bytes('w') } });
    expect(await watching.next()).toMatchObject({ created: true });
    const end = expect(watching.next()).rejects.toMatchObject({ code: 14, details: 'etcdserver: server stopped' });
    await other[Symbol.asyncDispose]();
    await end;
  });

  it('refuses an order that is none, and what is not served, by name', async () => {
    const sorted = await ours.ask('KV', 'Range', { key: bytes('a'), sort_order: 7 });
    expect(sorted.error).toBe('3 etcdserver: invalid sort option');
    const keeping = await ours.ask('KV', 'Txn', { success: [{ put: { key: bytes('a'), ignore_value: true } }] });
    expect(keeping.error).toMatch(/^12 longwatch: .* is not served$/);
  });

  it('listens in the clear on loopback only, and says what else to do', async () => {
    const start = (url: string) => startEtcdFront(embedded.store, { urls: [url] });
    await expect(start('http://0.0.0.0:0')).rejects.toThrow(
      /Cannot serve the store as etcd at "http:\/\/0.0.0.0:0": without TLS/,
    );
    await expect(start('https://127.0.0.1:0')).rejects.toThrow(/https:\/\/ needs certificates/);
    await expect(start('127.0.0.1:2379')).rejects.toThrow(/it is no URL, write it as/);
    await expect(start('http://127.0.0.1:2379/v3')).rejects.toThrow(/something after its host and port/);
  });
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

async function watchAll(client: EtcdGrpc) {
  const watching = new Watching(client.stream('Watch', 'Watch'));
  watching.write({ create: { key: bytes('\0'), range_end: bytes('\0'), start_revision: 1, prev_kv: true } });
  expect(await watching.next()).toMatchObject({ created: true });
  return {
    async upTo(revision: number) {
      const seen: unknown[][] = [];
      while (Number(seen[seen.length - 1]?.[1] ?? 0) < revision) seen.push(...eventsOf(await watching.next()));
      watching.cancel();
      return seen;
    },
  };
}
