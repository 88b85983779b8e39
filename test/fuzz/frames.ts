/** Bytes below requests: connections of HTTP/1.1 and HTTP/2 and gRPC calls, right at first and then damaged. */
import { Writer } from '../../src/api/protobuf.ts';
import { frame as grpcFrame } from '../../src/store/etcd/grpc/frames.ts';
import type { Dice } from './dice.ts';
import { base64, type FuzzInput } from './fuzz-input.ts';
import { damaged, oddText } from './odd-values.ts';

const HEADERS = [
  ...[
    'Host: a',
    'Host: b',
    'Content-Length: 2',
    'Content-Length: 99',
    'Transfer-Encoding: chunked',
    'Connection: close',
  ],
  ...[
    'Connection: upgrade',
    'Upgrade: websocket',
    'Expect: 100-continue',
    'Accept: */*',
    'X: \u00ff',
    ' Y: z',
    'Z : z',
  ],
];
const LINES = [
  'GET / HTTP/1.1',
  'GET /version HTTP/1.1',
  'POST /api/v1/namespaces HTTP/1.1',
  'PRI * HTTP/2.0',
  'GET /api HTTP/1.0',
  'get / HTTP/1.1',
];

export function someHttp1(dice: Dice): FuzzInput {
  const one = () => {
    const headers = ['Host: a', ...dice.times(4, () => dice.pick(HEADERS))].join('\r\n');
    const body = dice.chance(0.3) ? dice.pick(['{}', '2\r\n{}\r\n0\r\n\r\n', 'ffffffff\r\n', oddText(dice)]) : '';
    return `${dice.pick(LINES)}\r\n${headers}\r\n\r\n${body}`;
  };
  const whole = Buffer.from(Array.from({ length: 1 + dice.below(3) }, one).join(''));
  return { kind: 'http1', bytes: base64(dice.chance(0.6) ? damaged(dice, whole) : whole) };
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** In the table that every connection has: `:method GET`, `:scheme https`, `:path /`. */
const SMALL_HEAD = Buffer.from([0x82, 0x87, 0x84]);

export function someHttp2(dice: Dice): FuzzInput {
  const frames = dice.times(8, () => someFrame(dice));
  const whole = Buffer.concat([PREFACE, http2Frame(4, 0, 0, Buffer.alloc(0)), ...frames]);
  // The preface stays: without it, it is HTTP/1.1.
  const bytes = dice.chance(0.4) ? Buffer.concat([PREFACE, damaged(dice, whole.subarray(PREFACE.length))]) : whole;
  return { kind: 'http2', bytes: base64(bytes) };
}

function someFrame(dice: Dice): Buffer {
  const stream = dice.pick([0, 1, 1, 3, 5, 2, 2 ** 31 - 1]);
  const some = Buffer.from(Array.from({ length: dice.below(20) }, () => dice.below(256)));
  return dice.weighted<() => Buffer>([
    [5, () => http2Frame(1, dice.pick([4, 5, 0, 0x24]), stream, dice.chance(0.7) ? SMALL_HEAD : some)],
    [2, () => http2Frame(0, dice.pick([0, 1, 8]), stream, some)],
    [2, () => http2Frame(8, 0, stream, Buffer.from([0, 0, dice.below(256), dice.below(256)]))],
    [2, () => http2Frame(3, 0, stream, Buffer.from([0, 0, 0, dice.below(14)]))],
    [1, () => http2Frame(4, dice.below(2), 0, Buffer.from([0, dice.below(8), 0, dice.below(256), 0, dice.below(256)]))],
    [1, () => http2Frame(6, 0, 0, Buffer.alloc(8))],
    [1, () => http2Frame(9, 4, stream, some)],
    [1, () => http2Frame(dice.below(256), dice.below(256), stream, some)],
  ])();
}

function http2Frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const READING = [
  ...[
    'KV/Range',
    'Watch/Watch',
    'Lease/LeaseTimeToLive',
    'Lease/LeaseLeases',
    'Lease/LeaseKeepAlive',
    'Maintenance/Status',
  ],
  ...['Maintenance/Alarm', 'Maintenance/HashKV', 'Cluster/MemberList', 'Auth/Authenticate', ''],
];
const WRITING = ['KV/Put', 'KV/DeleteRange', 'KV/Txn', 'Lease/LeaseGrant', 'Lease/LeaseRevoke'];

/** Whatever it writes is below `/fuzz/`: what the server keeps elsewhere is not the front's to guard. */
export function someGrpc(dice: Dice): FuzzInput {
  if (dice.chance(0.4)) {
    const method = dice.pick(WRITING);
    return { kind: 'grpc', method, bytes: base64(grpcFrame(writingMessage(dice, method))) };
  }
  const framed = grpcFrame(someMessage(dice, 0));
  return {
    kind: 'grpc',
    method: dice.pick(READING),
    bytes: base64(dice.chance(0.3) ? damaged(dice, framed) : framed),
  };
}

function someMessage(dice: Dice, depth: number): Uint8Array {
  const writer = new Writer();
  for (let fields = dice.below(7); fields > 0; fields--) {
    const field = 1 + dice.below(14);
    dice.weighted<() => unknown>([
      [3, () => writer.int(field, dice.pick([0, 1, 2, 5, 128, 2 ** 31, 2 ** 53 - 1]))],
      [1, () => writer.int64(field, dice.pick([-1n, 2n ** 63n - 1n, -(2n ** 63n)]))],
      [3, () => writer.bytes(field, Buffer.from(dice.pick(['/fuzz/a', '\0', '/registry/', oddText(dice)])))],
      [2, () => depth < 5 && writer.bytes(field, someMessage(dice, depth + 1))],
    ])();
  }
  return writer.finish();
}

function writingMessage(dice: Dice, method: string): Uint8Array {
  const writer = new Writer();
  const key = () => Buffer.from(`/fuzz/${dice.pick(['a', 'b', 'c', ''])}`);
  const put = (one: Writer) =>
    one
      .bytes(1, key())
      .bytes(2, Buffer.from(oddText(dice)))
      .int(3, dice.below(3))
      .bool(4, dice.chance(0.5));
  const remove = (one: Writer) => {
    one.bytes(1, key());
    if (dice.chance(0.5)) one.bytes(2, Buffer.from('/fuzz0'));
  };
  const range = (one: Writer) => one.bytes(1, key()).int(3, dice.below(3)).int(5, dice.below(4)).int(6, dice.below(6));
  switch (method) {
    case 'KV/Put':
      put(writer);
      break;
    case 'KV/DeleteRange':
      remove(writer);
      break;
    case 'KV/Txn':
      for (let i = dice.below(4); i > 0; i--)
        writer.message(1, (one) =>
          one
            .int(1, dice.below(5))
            .int(2, dice.below(6))
            .bytes(3, key())
            .int(4 + dice.below(4), 1),
        );
      for (let i = dice.below(6); i > 0; i--)
        writer.message(2 + dice.below(2), (op) =>
          dice.weighted<() => unknown>([
            [2, () => op.message(1, range)],
            [2, () => op.message(2, put)],
            [1, () => op.message(3, remove)],
          ])(),
        );
      break;
    default:
      writer.int(1, dice.pick([0, 1, 60, 2 ** 31])).int(2, dice.below(3));
  }
  if (dice.chance(0.1)) writer.int(99, 1);
  return writer.finish();
}
