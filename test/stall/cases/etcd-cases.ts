/**
 * Every method of the etcd front, with the largest message it takes and with many small ones. A method that the front
 * serves and no case names fails entry-points.test.ts.
 */
import { type ClientHttp2Stream, connect } from 'node:http2';
import { Writer } from '../../../src/api/protobuf.ts';
import { frame } from '../../../src/store/etcd/grpc/frames.ts';
import type { ServerTarget } from '../../support/victim/server-target.ts';
import type { Played, StallCase } from '../../support/victim/stall-case.ts';
import { firstOf } from '../first-of.ts';
import { times } from './text-shapes.ts';

/** Just below what etcd takes as one request. */
const LONGEST = 1.5 * 1024 * 1024 - 1024;
const BEYOND = 4 * 1024 * 1024;
const UNARY_MS = 2_000;
const LEAVE_MS = 60;

type Send = (stream: ClientHttp2Stream, size: number, name: string) => Promise<number> | number;

function call(method: string, name: string, limit: number, send: Send, before?: StallCase<ServerTarget>['before']) {
  const one: StallCase<ServerTarget> = {
    name: `${method}: ${name}`,
    covers: [`grpc:${method}`],
    limit,
    ...(before && { before }),
    play: async (target, size, label): Promise<Played> => {
      const sentBytes = await withStream(target, method, (stream) => send(stream, size, label));
      return { sentBytes, statuses: [] };
    },
  };
  return one;
}

/** One message, and the answer to it. */
function unary(
  method: string,
  name: string,
  limit: number,
  make: (size: number, name: string) => Uint8Array,
  before?: StallCase<ServerTarget>['before'],
): StallCase<ServerTarget> {
  return call(
    method,
    name,
    limit,
    (stream, size, label) => {
      const bytes = frame(make(size, label));
      stream.end(bytes);
      return bytes.length;
    },
    before,
  );
}

/** Many messages on one stream. */
function many(method: string, name: string, limit: number, make: (i: number, size: number) => Uint8Array) {
  return call(method, name, limit, (stream, size) => {
    const bytes = Buffer.concat(times(size, (i) => frame(make(i, size))));
    stream.write(bytes);
    return bytes.length;
  });
}

async function withStream(
  target: ServerTarget,
  method: string,
  use: (stream: ClientHttp2Stream) => Promise<number> | number,
): Promise<number> {
  const session = connect(target.etcdUrl);
  session.on('error', () => {}); // told by its close
  const stream = session.request({
    ':method': 'POST',
    ':path': `/etcdserverpb.${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {}); // told by its close
  const closed = firstOf(stream, 'close');
  try {
    const sent = await use(stream);
    // Streams that last are left when nothing comes any more; the others end by themselves.
    const leaving = setTimeout(() => stream.destroy(), stream.writableEnded ? UNARY_MS : LEAVE_MS);
    stream.on('data', () => leaving.refresh());
    stream.once('end', () => stream.destroy()); // answered, whether or not all was read
    await closed;
    clearTimeout(leaving);
    return sent;
  } finally {
    session.destroy();
  }
}

const made = (write: (writer: Writer) => void) => {
  const writer = new Writer(64 * 1024);
  write(writer);
  return writer.finish();
};
const key = (i: number) => Buffer.from(`/stall/k${i}`);
const put =
  (i: number, value = Buffer.alloc(1)) =>
  (op: Writer) =>
    op.message(2, (one) => one.bytes(1, key(i)).bytes(2, value));
const EVERY_KEY = Buffer.from([0]);

/** Keys of its own, in transactions, for the reads to go through. */
async function fill(target: ServerTarget, size: number): Promise<void> {
  for (let from = 0; from < size; from += 100) {
    const txn = made((writer) => times(100, (i) => writer.message(2, put(from + i))));
    await withStream(target, 'KV/Txn', (stream) => {
      stream.end(frame(txn));
      return txn.length;
    });
  }
}

const every = (more: (writer: Writer) => void) =>
  made((writer) => {
    writer.bytes(1, EVERY_KEY).bytes(2, EVERY_KEY);
    more(writer);
  });

const keyValue = [
  unary('KV/Range', 'a long key', LONGEST, (size) => made((writer) => writer.bytes(1, Buffer.alloc(size, 0x61)))),
  unary('KV/Range', 'every key', 4_000, () => every(() => {}), fill),
  unary('KV/Range', 'every key by value, descending', 4_000, () => every((w) => w.int(5, 2).int(6, 4)), fill),
  unary('KV/Range', 'every key between revisions', 4_000, () => every((w) => w.int(10, 1).int(11, 1_000_000)), fill),
  unary('KV/Range', 'fields again and again', LONGEST, (size) =>
    made((writer) => times(size / 4, () => writer.bytes(1, key(1)))),
  ),
  unary('KV/Range', 'fields that there are not', LONGEST, (size) =>
    made((writer) => times(size / 3, () => writer.int(99, 1))),
  ),
  unary('KV/Put', 'a large value', LONGEST, (size, label) =>
    made((w) => w.bytes(1, Buffer.from(label)).bytes(2, Buffer.alloc(size))),
  ),
  unary('KV/Put', 'more than is allowed', BEYOND, (size, label) =>
    made((w) => w.bytes(1, Buffer.from(label)).bytes(2, Buffer.alloc(size))),
  ),
  unary('KV/Put', 'a long key', LONGEST, (size) => made((writer) => writer.bytes(1, Buffer.alloc(size, 0x61)))),
  unary(
    'KV/DeleteRange',
    'many keys',
    4_000,
    () => made((writer) => writer.bytes(1, Buffer.from('/stall/')).bytes(2, Buffer.from('/stall0')).bool(3, true)),
    fill,
  ),
  unary('KV/Txn', 'many puts', 128, (size) =>
    made((writer) => times(size, (i) => writer.message(2, put(i, Buffer.alloc(8_000))))),
  ),
  unary('KV/Txn', 'more operations than are allowed', 100_000, (size) =>
    made((writer) => times(size, (i) => writer.message(2, put(i)))),
  ),
  unary('KV/Txn', 'many comparisons', 50_000, (size) =>
    made((writer) => times(size, (i) => writer.message(1, (one) => one.int(2, 0).bytes(3, key(i))))),
  ),
  unary(
    'KV/Txn',
    'comparisons of every key',
    128,
    (size) =>
      made((writer) =>
        times(size, () => writer.message(1, (one) => one.int(2, 0).bytes(3, EVERY_KEY).bytes(64, EVERY_KEY))),
      ),
    (target) => fill(target, 2_000),
  ),
  unary(
    'KV/Txn',
    'reads of every key',
    32,
    (size) =>
      made((writer) =>
        times(size, () =>
          writer.message(2, (op) =>
            op.message(1, (range) => range.bytes(1, EVERY_KEY).bytes(2, EVERY_KEY).bool(9, true)),
          ),
        ),
      ),
    (target) => fill(target, 2_000),
  ),
  unary('KV/Txn', 'transactions in transactions', 3_000, (size) => {
    let inner: Uint8Array = made(() => {});
    for (let depth = 0; depth < size; depth++) {
      const before = inner;
      inner = made((writer) => writer.message(2, (op) => op.bytes(4, before)));
    }
    return inner;
  }),
  unary('KV/Compact', 'a revision far ahead', LONGEST, (size) =>
    made((writer) => times(size / 6, () => writer.int(1, 1_000_000_000))),
  ),
];

const watchOf = (more: (create: Writer) => void) =>
  made((writer) =>
    writer.message(1, (create) => {
      create.bytes(1, Buffer.from('/stall/')).bytes(2, Buffer.from('/stall0'));
      more(create);
    }),
  );

const watches = [
  many('Watch/Watch', 'many watches', 2_000, () => watchOf(() => {})),
  many('Watch/Watch', 'many watches of one id', 20_000, () => watchOf((create) => create.int(7, 5))),
  many('Watch/Watch', 'many requests for progress', 20_000, (i) =>
    i === 0 ? watchOf(() => {}) : made((w) => w.message(3, () => {})),
  ),
  many('Watch/Watch', 'many cancellations', 20_000, (i) =>
    made((writer) => writer.message(2, (cancel) => cancel.int(1, i))),
  ),
  many('Watch/Watch', 'many empty messages', 100_000, () => new Uint8Array(0)),
  unary('Watch/Watch', 'many filters', LONGEST, (size) => watchOf((create) => times(size / 2, () => create.int(5, 1)))),
  unary('Watch/Watch', 'a long key', LONGEST, (size) =>
    made((w) => w.message(1, (create) => create.bytes(1, Buffer.alloc(size, 0x61)))),
  ),
  call('Watch/Watch', 'messages in frames of one byte', 20_000, async (stream, size) => {
    const bytes = Buffer.concat(times(size / 20, () => frame(watchOf((create) => create.int(7, 5)))));
    for (let at = 0; at < bytes.length && !stream.destroyed; at++)
      if (!stream.write(bytes.subarray(at, at + 1))) await firstOf(stream, 'drain', 'close');
    return bytes.length;
  }),
];

const junk = (size: number) => made((writer) => times(size / 3, () => writer.int(99, 1)));

const others = [
  many('Lease/LeaseKeepAlive', 'many leases that there are not', 10_000, (i) => made((writer) => writer.int(1, i + 1))),
  unary('Lease/LeaseGrant', 'fields that there are not', LONGEST, junk),
  unary('Lease/LeaseRevoke', 'fields that there are not', LONGEST, junk),
  unary('Lease/LeaseTimeToLive', 'fields that there are not', LONGEST, junk),
  unary('Lease/LeaseLeases', 'fields that there are not', LONGEST, junk),
  unary('Maintenance/Status', 'fields that there are not', LONGEST, junk),
  unary('Maintenance/Alarm', 'fields that there are not', LONGEST, junk),
  unary('Maintenance/Defragment', 'fields that there are not', LONGEST, junk),
  unary('Maintenance/HashKV', 'of many keys', 4_000, () => made(() => {}), fill),
  unary('Maintenance/Snapshot', 'of many keys', 4_000, () => made(() => {}), fill),
  unary('Cluster/MemberList', 'fields that there are not', LONGEST, junk),
  unary('No/Method', 'that there is not', BEYOND, junk),
  call('KV/Range', 'a frame that is longer than it says', LONGEST, (stream, size) => {
    stream.end(Buffer.alloc(size));
    return size;
  }),
  call('KV/Range', 'a compressed frame', LONGEST, (stream, size) => {
    stream.end(Buffer.alloc(size, 1));
    return size;
  }),
  call('KV/Range', 'a message in frames of one byte', 20_000, async (stream, size) => {
    const bytes = frame(made((writer) => writer.bytes(1, Buffer.alloc(size, 0x61))));
    for (let at = 0; at < bytes.length && !stream.destroyed; at++)
      if (!stream.write(bytes.subarray(at, at + 1))) await firstOf(stream, 'drain', 'close');
    stream.end();
    return bytes.length;
  }),
];

export const etcdCases: readonly StallCase<ServerTarget>[] = [...keyValue, ...watches, ...others];
