import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { FrameReader, frame, OPCODE, ProtocolError } from './websocket-frames.ts';

/** As a server writes it. */
function served(first: number, data: Buffer): Buffer {
  const head = data.length > 0xffff ? 10 : data.length > 125 ? 4 : 2;
  const bytes = Buffer.alloc(head);
  bytes[0] = first;
  bytes[1] = head === 10 ? 127 : head === 4 ? 126 : data.length;
  if (head === 4) bytes.writeUInt16BE(data.length, 2);
  if (head === 10) bytes.writeBigUInt64BE(BigInt(data.length), 2);
  return Buffer.concat([bytes, data]);
}

const long = Buffer.alloc(70_000, 'x');
const stream = Buffer.concat([
  served(0x82, Buffer.from('whole')),
  served(0x02, Buffer.from('in ')),
  served(0x89, Buffer.from('ping')),
  served(0x80, Buffer.from('parts')),
  served(0x82, long),
  served(0x82, Buffer.alloc(200, 'y')),
  served(0x88, Buffer.from([3, 232])),
]);

it.each([1, 2, 3, 7, 1000, stream.length])('messages come out whole, cut into pieces of %i bytes', (size) => {
  const reader = new FrameReader(100_000);
  const found: string[] = [];
  for (let from = 0; from < stream.length; from += size)
    for (const { opcode, data } of reader.take(stream.subarray(from, from + size)))
      found.push(`${opcode} ${data.length > 20 ? data.length : data.toString('latin1')}`);
  expect(found).toEqual(['2 whole', '9 ping', '2 in parts', '2 70000', '2 200', '8 \u0003è']);
});

it.each<[claim: string, bytes: Buffer]>([
  ['a masked frame', frame(OPCODE.binary, Buffer.from('a'))],
  ['a reserved bit', served(0xc2, Buffer.from('a'))],
  ['an unknown kind', served(0x83, Buffer.from('a'))],
  ['a long control frame', served(0x89, Buffer.alloc(126))],
  ['a control frame in parts', served(0x09, Buffer.from('a'))],
  ['a part of nothing', served(0x80, Buffer.from('a'))],
  ['a message within another', Buffer.concat([served(0x02, Buffer.from('a')), served(0x82, Buffer.from('b'))])],
  ['a message that is too long', served(0x82, Buffer.alloc(101))],
  ['parts that are too long together', Buffer.concat([served(0x02, Buffer.alloc(60)), served(0x80, Buffer.alloc(60))])],
])('%s is refused', (_claim, bytes) => {
  expect(() => [...new FrameReader(100).take(bytes)]).toThrow(ProtocolError);
});

it('reading a frame in small pieces is linear in its length', async () => {
  await expectLinear('reading a frame in pieces', {
    make: (bytes) => served(0x82, Buffer.alloc(bytes)),
    run: (bytes) => {
      const reader = new FrameReader(100_000_000);
      for (let from = 0; from < bytes.length; from += 16) for (const _ of reader.take(bytes.subarray(from, from + 16)));
    },
    from: 100_000,
    limit: 10_000_000,
  });
});

it.each<[claim: string, chunk: Buffer, times: number, heldBytes: number]>([
  ['many empty parts', Buffer.concat(Array<Buffer>(1000).fill(served(0x00, Buffer.alloc(0)))), 1000, 0],
  ['a frame that comes byte by byte', Buffer.from('a'), 200_000, 200_000],
])('of %s no more is kept than their bytes', (_claim, chunk, times, heldBytes) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const reader = new FrameReader(1_000_000);
  expect([...reader.take(served(0x02, Buffer.from('a')))]).toEqual([]);
  if (heldBytes > 0) expect([...reader.take(served(0x80, Buffer.alloc(1_000_000 - 1)).subarray(0, 10))]).toEqual([]);
  collect();
  const before = process.memoryUsage();
  for (let i = 0; i < times; i++) for (const _ of reader.take(chunk.subarray()));
  collect();
  const after = process.memoryUsage();
  const grownBytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  expect(grownBytes).toBeLessThan(1024 * 1024 + 2 * heldBytes);
  if (heldBytes === 0)
    expect([...reader.take(served(0x80, Buffer.from('b')))].map(({ data }) => `${data}`)).toEqual(['ab']);
});
