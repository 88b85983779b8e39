/**
 * What one client of the etcd front can do to others: frames that lie, floods of small things, calls that ask for much,
 * streams that nobody reads. Time grows with what is sent, nobody waits long for their turn, memory stays bounded, and
 * where etcd has words for it they are these.
 */
import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Writer } from '../../../src/api/protobuf.ts';
import type { EtcdFront } from '../../../src/store/etcd-front/etcd-front.ts';
import type { Op, Store } from '../../../src/store/kv.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { expectLinear } from '../../support/growth.ts';
import { openTemporaryEmbedded } from '../../support/store/embedded-under-test.ts';
import { etcdFronts } from '../../support/store/etcd-fronts.ts';
import type { StoreUnderTest } from '../../support/store/store-under-test.ts';
import { watchTurns } from '../../support/turns.ts';
import { framed, RawGrpc } from './raw-grpc.ts';

const KEYS = 20_000;
/** Nobody waits longer for their turn, in CPU time: several times what is seen, a fraction of what it was. */
const LONGEST_TURN_MS = 150;

describe.each(etcdFronts)('a store served as an etcd %s:', (_where, startFront) => {
  let embedded: StoreUnderTest;
  let store: Store;
  let front: EtcdFront;
  let client: RawGrpc;
  beforeAll(async () => {
    embedded = await openTemporaryEmbedded();
    ({ store } = embedded);
    const puts = Array.from(
      { length: KEYS },
      (_, i): Op => ({ kind: 'put', key: `/many/${i}`, value: Buffer.alloc(50, i) }),
    );
    for (let i = 0; i < KEYS; i += 128) await store.txn({ then: puts.slice(i, i + 128) });
    front = await startFront(store);
    client = new RawGrpc(front.urls[0]!);
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await front[Symbol.asyncDispose]();
    await embedded[Symbol.asyncDispose]();
  });

  const key = (text: string) => new Writer().string(1, text);
  const everything = (write: (writer: Writer) => void = () => {}) => {
    const writer = new Writer().string(1, '/many/').string(2, '/many0');
    write(writer);
    return writer.finish();
  };
  const pieces = (bytes: Buffer, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

  describe('frames', () => {
    const range = key('a').finish();
    const cases: [claim: string, chunks: Buffer[], headers?: object][] = [
      ['nothing at all', []],
      ['half of a length', [Buffer.from([0, 0])]],
      ['half of a message', [framed(range).subarray(0, 6)]],
      ['a length that is a lie', [framed(range, 0, 100)]],
      ['a length beyond all limits', [framed(range, 0, 0xffffffff)]],
      ['a length just beyond the limit', [framed(range, 0, 2 * 1024 * 1024 + 1)]],
      ['a compressed message', [framed(range, 1)]],
      ['a format that there is not', [framed(range, 7)]],
      ['compression by a known name', [framed(range, 1)], { 'grpc-encoding': 'gzip' }],
      ['a name of compression alone', [framed(range)], { 'grpc-encoding': 'foo' }],
      ['compression that is none', [framed(range)], { 'grpc-encoding': 'identity' }],
      ['two messages where one is due', [framed(range), framed(range)]],
      ['one byte at a time', pieces(framed(range), 1)],
    ];

    const version = etcdVersion();
    describe.skipIf(version === undefined)(`beside etcd ${version ?? 'which is not on the PATH'}`, () => {
      let etcd: EtcdCluster;
      beforeAll(async () => {
        etcd = await startEtcd();
      });
      afterAll(() => etcd[Symbol.asyncDispose]());

      it.each(cases)('%s is answered alike', async (_claim, chunks, headers) => {
        using theirs = new RawGrpc(etcd.urls[0]!);
        const [mine, real] = await Promise.all(
          [client, theirs].map((one) => one.call('KV/Range', chunks, headers as Record<string, string>)),
        );
        expect({ status: mine!.status, message: mine!.message }).toEqual({
          status: real!.status,
          message: real!.message,
        });
      });

      it.each([['KV/Nope'], ['Nope/Nope']])('a method that there is not, %s', async (method) => {
        using theirs = new RawGrpc(etcd.urls[0]!);
        const [mine, real] = await Promise.all([client, theirs].map((one) => one.call(method, [framed(range)])));
        expect(mine).toMatchObject({ status: '12' });
        expect(real).toMatchObject({ status: '12' });
      });
    });

    it('headers beyond all measure end their call and no other', async () => {
      using other = new RawGrpc(front.urls[0]!);
      const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-${i}`, 'y'.repeat(5000)]));
      const { status } = await other.call('KV/Range', [framed(range)], many);
      expect(status).not.toBe('0');
      expect(await client.call('KV/Range', [framed(range)])).toMatchObject({ status: '0' });
    });

    it('a message in the smallest of frames takes time with its length', async () => {
      await expectLinear('a put in DATA frames of 3 bytes', {
        make: (size) => pieces(framed(key('/small').bytes(2, Buffer.alloc(size)).finish() as Buffer), 3),
        run: async (chunks) => expect(await client.call('KV/Put', chunks)).toMatchObject({ status: '0' }),
        from: 4000,
        limit: 32_000,
        rounds: 2,
      });
    });

    it('a transaction of any number of operations is refused in time with its length', async () => {
      const make = (count: number) => {
        const writer = new Writer();
        for (let i = 0; i < count; i++) writer.message(2, (op) => op.message(1, (read) => read.string(1, 'a')));
        return [framed(writer.finish())];
      };
      const tooMany = { status: '3', message: 'etcdserver: too many operations in txn request' };
      await expectLinear('decoding operations', {
        make,
        run: async (chunks) => expect(await client.call('KV/Txn', chunks)).toMatchObject(tooMany),
        from: 20_000,
        limit: 160_000,
        rounds: 2,
      });
    });

    it('transactions in transactions without end are refused, not followed', async () => {
      let inner: Uint8Array = new Uint8Array(0);
      for (let depth = 0; depth < 20_000; depth++) {
        const body = inner;
        inner = new Writer(body.length + 20).message(2, (op) => op.bytes(4, body)).finish();
      }
      const { status, message } = await client.call('KV/Txn', [framed(inner)]);
      expect({ status, message }).toEqual({ status: '3', message: 'etcdserver: too many operations in txn request' });
    });
  });

  describe('calls that ask for much let others have their turn', () => {
    it('a range of everything, as it is', async () => {
      const { result, longestCpuMs } = await watchTurns(() => client.call('KV/Range', [framed(everything())]));
      expect(result).toMatchObject({ status: '0' });
      expect(result.bytes).toBeGreaterThan(KEYS * 60);
      expect(longestCpuMs).toBeLessThan(LONGEST_TURN_MS);
    });

    it.each([
      ['by value, downwards', (w: Writer) => w.int(5, 2).int(6, 4)],
      ['by version, filtered', (w: Writer) => w.int(5, 1).int(6, 1).int(10, 5)],
    ])('a range of everything, sorted %s', async (_claim, write) => {
      const asked = framed(everything((writer) => void write(writer)));
      const { result, longestCpuMs } = await watchTurns(() => client.call('KV/Range', [asked]));
      expect(result).toMatchObject({ status: '0' });
      expect(longestCpuMs).toBeLessThan(LONGEST_TURN_MS);
    });

    const manyRanges = (count: number) => {
      const writer = new Writer();
      for (let i = 0; i < count; i++)
        writer.message(2, (op) =>
          op.bytes(
            1,
            everything((w) => w.int(3, 2000)),
          ),
        );
      return [framed(writer.finish())];
    };

    it('a transaction of 128 ranges of thousands of keys', async () => {
      const { result, longestCpuMs } = await watchTurns(() => client.call('KV/Txn', manyRanges(128)));
      expect(result).toMatchObject({ status: '0' });
      expect(result.bytes).toBeGreaterThan(128 * 2000 * 60);
      expect(longestCpuMs).toBeLessThan(LONGEST_TURN_MS);
    });

    it('ranges in a transaction take time with their number', async () => {
      await expectLinear('ranges of 2000 keys in a transaction', {
        make: manyRanges,
        run: async (chunks) => expect(await client.call('KV/Txn', chunks)).toMatchObject({ status: '0' }),
        from: 8,
        limit: 32,
        rounds: 2,
      });
    });

    it('a transaction that changes something goes over a bounded number of values', async () => {
      const value = (writer: Writer) =>
        writer.message(1, (compare) =>
          compare.int(1, 3).int(2, 3).string(3, '/many/').string(7, 'no such').string(64, '/many0'),
        );
      const write = new Writer();
      for (let i = 0; i < 6; i++) value(write);
      write.message(2, (op) => op.message(2, (put) => put.string(1, 'a')));
      const { status, message } = await client.call('KV/Txn', [framed(write.finish())]);
      expect(status).toBe('3');
      expect(message).toMatch(/go over more than 100000 values or 1000000 keys; read outside of it$/);
    });

    it('a hash of everything', async () => {
      const { result, longestCpuMs } = await watchTurns(() =>
        client.call('Maintenance/HashKV', [framed(Buffer.alloc(0))]),
      );
      expect(result).toMatchObject({ status: '0' });
      expect(longestCpuMs).toBeLessThan(LONGEST_TURN_MS);
    });
  });

  /** Reads answers on a stream and counts them. */
  function counting(stream: ClientHttp2Stream): { readonly count: number; until(count: number): Promise<void> } {
    let held: Buffer = Buffer.alloc(0);
    let count = 0;
    let wake = () => {};
    stream.on('data', (data: Buffer) => {
      held = held.length === 0 ? data : Buffer.concat([held, data]);
      let at = 0;
      while (held.length - at >= 5 && held.length - at >= 5 + held.readUInt32BE(at + 1)) {
        at += 5 + held.readUInt32BE(at + 1);
        count++;
      }
      held = held.subarray(at);
      wake();
    });
    return {
      get count() {
        return count;
      },
      async until(wanted) {
        while (count < wanted)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      },
    };
  }

  const createWatch = (text: string, more: (writer: Writer) => void = () => {}) =>
    framed(
      new Writer()
        .message(1, (create) => {
          create.string(1, text);
          more(create);
        })
        .finish(),
    );
  const cancelWatch = (id: number) => framed(new Writer().message(2, (cancel) => cancel.int(1, id)).finish());
  const askProgress = framed(new Writer().message(3, () => {}).finish());

  describe('floods on one stream', () => {
    it('of keep-alives take time with their number, and others have their turn', async () => {
      const run = async (count: number) => {
        const stream = client.open('Lease/LeaseKeepAlive');
        const answers = counting(stream);
        stream.write(Buffer.concat(Array(count).fill(framed(new Writer().int(1, 99).finish()))));
        await answers.until(count);
        stream.close();
      };
      await expectLinear('keep-alives', { make: (n) => n, run, from: 2000, limit: 16_000, rounds: 2 });
      const { turns } = await watchTurns(() => run(8000));
      expect(turns).toBeGreaterThan(8000 / 128);
    });

    it('of watches, made and cancelled', async () => {
      const run = async (count: number) => {
        const stream = client.open('Watch/Watch');
        const answers = counting(stream);
        for (let i = 0; i < count; i++) stream.write(Buffer.concat([createWatch(`/w/${i}`), cancelWatch(i)]));
        await answers.until(2 * count);
        stream.close();
        await once(stream, 'close');
      };
      await expectLinear('watches made and cancelled', { make: (n) => n, run, from: 500, limit: 4000, rounds: 2 });
    });

    it('of watches of all kinds of intervals', async () => {
      const run = async (count: number) => {
        const stream = client.open('Watch/Watch');
        const answers = counting(stream);
        for (let i = 0; i < count; i++)
          stream.write(createWatch(`/w/${i}`, (create) => create.string(2, `/w/${i}/to/here`)));
        await answers.until(count);
        stream.close();
        await once(stream, 'close');
        while ((await store.status()).watchers! > 0) await nextTurn();
      };
      await expectLinear('watches of intervals', { make: (n) => n, run, from: 1000, limit: 8000, rounds: 2 });
    });

    it('of watches that stay, with a progress request for each and a change that all of them see', async () => {
      const run = async (count: number) => {
        const stream = client.open('Watch/Watch');
        const answers = counting(stream);
        for (let i = 0; i < count; i++) stream.write(createWatch('/seen'));
        await answers.until(count);
        await store.txn({ then: [{ kind: 'put', key: '/seen', value: Buffer.alloc(0) }] });
        await answers.until(2 * count);
        for (let i = 0; i < count; i++) stream.write(askProgress);
        await answers.until(3 * count);
        stream.close();
        await once(stream, 'close');
      };
      await expectLinear('watches and progress', { make: (n) => n, run, from: 500, limit: 4000, rounds: 2 });
    });

    it('of requests that say nothing are nothing', async () => {
      const stream = client.open('Watch/Watch');
      const answers = counting(stream);
      stream.write(Buffer.concat(Array(5000).fill(framed(Buffer.alloc(0)))));
      stream.write(createWatch('/nothing'));
      await answers.until(1);
      expect(answers.count).toBe(1);
      stream.close();
    });
  });

  describe('a client that does not read', () => {
    /** What has been handed to it piles up nowhere. */
    const held = () => {
      const { arrayBuffers, external } = process.memoryUsage();
      return Math.max(arrayBuffers, external);
    };
    const MEBIBYTE = 1024 * 1024;

    it('costs no more for many watches than for one', async () => {
      using idle = new RawGrpc(front.urls[0]!, 64 * 1024);
      const stream = idle.open('Watch/Watch');
      const answers = counting(stream);
      for (let i = 0; i < 300; i++) stream.write(createWatch('/large', (create) => create.bool(6, true)));
      await answers.until(300);
      stream.pause();
      const before = held();
      for (let i = 0; i < 10; i++)
        await store.txn({ then: [{ kind: 'put', key: '/large', value: Buffer.alloc(MEBIBYTE, i) }] });
      for (let i = 0; i < 20; i++) await nextTurn();
      // Ten values are there for all of them, each once as itself and once as what was before; 300 copies are not.
      expect(held() - before).toBeLessThan(80 * MEBIBYTE);
      stream.resume();
      await answers.until(301);
    });

    it('gets a long answer in pieces, made as it takes them', async () => {
      await store.txn({ then: [{ kind: 'put', key: '/big/0', value: Buffer.alloc(MEBIBYTE) }] });
      for (let i = 1; i < 20; i++)
        await store.txn({ then: [{ kind: 'put', key: `/big/${i}`, value: Buffer.alloc(MEBIBYTE, i) }] });
      using idle = new RawGrpc(front.urls[0]!, 0);
      const before = held();
      const asked = framed(new Writer().string(1, '/big/').string(2, '/big0').finish());
      const streams = Array.from({ length: 5 }, () => idle.open('KV/Range'));
      for (const stream of streams) stream.end(asked);
      await Promise.all(streams.map((stream) => once(stream, 'response')));
      for (let i = 0; i < 20; i++) await nextTurn();
      // The pairs that were read, and not the message beside them.
      expect(held() - before).toBeLessThan(5 * 20 * MEBIBYTE * 1.5);
      expect(await client.call('KV/Range', [framed(key('a').finish())])).toMatchObject({ status: '0' });
    });
  });

  describe('leases by the thousand', () => {
    it('are granted, listed and asked for in time with their number', async () => {
      const run = async (count: number) => {
        const ids: bigint[] = [];
        for (let i = 0; i < count; i++) ids.push((await store.grantLease(5000)).id);
        expect((await client.call('Lease/LeaseLeases', [framed(Buffer.alloc(0))])).bytes).toBeGreaterThan(count * 8);
        for (const id of ids) await store.revokeLease(id);
      };
      await expectLinear('leases', { make: (n) => n, run, from: 500, limit: 4000, rounds: 2 });
    });

    it('asking for the time of one costs nothing for its keys, unless they are wanted', async () => {
      const { id } = await store.grantLease(5000);
      const puts = Array.from(
        { length: 12_800 },
        (_, i): Op => ({ kind: 'put', key: `/leased/${i}`, value: Buffer.alloc(0), lease: id }),
      );
      for (let i = 0; i < puts.length; i += 128) await store.txn({ then: puts.slice(i, i + 128) });
      const cpuMs = async (wantsKeys: boolean) => {
        const asked = [framed(new Writer().int64(1, id).bool(2, wantsKeys).finish())];
        let best = Number.POSITIVE_INFINITY;
        for (let round = 0; round < 4; round++) {
          const before = process.cpuUsage();
          for (let i = 0; i < 20; i++) await client.call('Lease/LeaseTimeToLive', asked);
          const { user, system } = process.cpuUsage(before);
          best = Math.min(best, (user + system) / 1000);
        }
        return best;
      };
      expect((await cpuMs(false)) * 3).toBeLessThan(await cpuMs(true));
      await store.revokeLease(id);
    });
  });
});
