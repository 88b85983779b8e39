import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtobufError, Reader, varintSize, Writer, writeVarint, writeVarint64 } from './protobuf.ts';

const hex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const unhex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

describe('Writer', () => {
  it.each([Number.POSITIVE_INFINITY, 2 ** 64, '1e999' as unknown as number])('refuses the integer %j', (value) => {
    expect(() => new Writer().int(1, value)).toThrow(ProtobufError);
  });

  it.each<[claim: string, write: (writer: Writer) => void, want: string]>([
    ['a small varint', (w) => w.int(1, 150), '089601'],
    ['a negative int in ten bytes', (w) => w.int(2, -1), '10ffffffffffffffffff01'],
    ['a large field number', (w) => w.int(64, 1), '800401'],
    ['a bool', (w) => w.bool(3, true), '1801'],
    ['bytes', (w) => w.bytes(2, unhex('00ff')), '120200ff'],
    ['a binary string byte by byte', (w) => w.binary(2, '\0\xff'), '120200ff'],
    ['text as UTF-8', (w) => w.string(2, 'é'), '1202c3a9'],
    ['text that turns out not to be ASCII', (w) => w.int(1, 1).string(2, 'aé'), '0801120361c3a9'],
    ['a double', (w) => w.double(9, -0.5), '49000000000000e0bf'],
    ['nothing of what was cleared', (w) => void w.int(1, 1).clear(), ''],
    ['an empty message', (w) => w.message(4, () => {}), '2200'],
    ['messages in a message', (w) => w.message(1, (m) => m.message(2, (n) => n.int(1, 1))), '0a0412020801'],
  ])('writes %s', (_claim, write, want) => {
    const writer = new Writer(1);
    write(writer);
    expect(hex(writer.finish())).toBe(want);
  });

  it('moves an embedded message aside when its length takes more than one byte', () => {
    const body = new Uint8Array(300).fill(7);
    const reader = new Reader(new Writer(4).message(1, (w) => w.bytes(2, body)).finish());
    expect(reader.tag()).toBe(10);
    const outer = reader.enter();
    expect(reader.tag()).toBe(18);
    expect(reader.bytes()).toEqual(body);
    expect(reader.hasMore).toBe(false);
    reader.leave(outer);
    expect(reader.hasMore).toBe(false);
  });
});

describe('varints', () => {
  it('come back as they were, as number and as bigint, in the size that was announced', () => {
    const edges = Array.from({ length: 53 }, (_, bit) => [2 ** bit - 1, 2 ** bit, 2 ** bit + 1]).flat();
    const check = (value: number) => {
      const target = new Uint8Array(10);
      const end = writeVarint(target, 0, value);
      expect(end).toBe(varintSize(value));
      expect(new Reader(target, 0, end).int()).toBe(value);
      expect(new Reader(target, 0, end).int64()).toBe(BigInt(value));
      expect(writeVarint64(new Uint8Array(10), 0, BigInt(value))).toBe(end);
    };
    for (const edge of [...edges, Number.MAX_SAFE_INTEGER]) {
      check(edge);
      check(Math.max(-edge - 1, Number.MIN_SAFE_INTEGER));
    }
    fc.assert(fc.property(fc.maxSafeInteger(), check));
  });

  it('keep all 64 bits as bigint', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        const target = new Uint8Array(10);
        const end = writeVarint64(target, 0, value);
        expect(new Reader(target, 0, end).uint64()).toBe(value);
        expect(new Reader(target, 0, end).int64()).toBe(BigInt.asIntN(64, value));
      }),
    );
  });
});

describe('Reader', () => {
  it('skips fields of every kind it does not know', () => {
    const unknown = '089601' + '110102030405060708' + '1a03616263' + '2501020304';
    const reader = new Reader(unhex(`${unknown}3005`));
    for (let i = 0; i < 4; i++) reader.skip(reader.tag());
    expect([reader.tag(), reader.int(), reader.hasMore]).toEqual([48, 5, false]);
  });

  it('reads a bool of any length', () => {
    expect(new Reader(unhex('00')).bool()).toBe(false);
    expect(new Reader(unhex('01')).bool()).toBe(true);
    expect(new Reader(unhex('8002')).bool()).toBe(true);
    expect(new Reader(unhex('8000')).bool()).toBe(false);
  });

  it.each<[claim: string, input: string, read: (reader: Reader) => unknown]>([
    ['a varint that is cut short', '80', (r) => r.int()],
    ['a varint of eleven bytes', 'ffffffffffffffffffff01', (r) => r.int()],
    ['a varint of more than 64 bits', 'ffffffffffffffffff02', (r) => r.int()],
    ['the same as bigint', 'ffffffffffffffffff02', (r) => r.uint64()],
    ['a number above 2^53', 'ffffffffffffffff7f', (r) => r.int()],
    ['bytes longer than the message', '0501', (r) => r.bytes()],
    ['bytes of negative length', 'ffffffffffffffffff01', (r) => r.bytes()],
    ['a message longer than its frame', '0501', (r) => r.enter()],
    ['a fixed field that is cut short', '01', (r) => r.skip(9)],
    ['a group', '', (r) => r.skip(11)],
    ['field number zero', '00', (r) => r.tag()],
    ['nothing at all', '', (r) => r.int()],
  ])('refuses %s', (_claim, input, read) => {
    expect(() => read(new Reader(unhex(input)))).toThrow(ProtobufError);
  });

  it('does not look past the embedded message it was narrowed to', () => {
    const reader = new Reader(unhex('0a02089601'));
    reader.tag();
    reader.enter();
    reader.tag();
    expect(() => reader.int()).toThrow(ProtobufError);
  });

  it('ends in a value or a ProtobufError on any input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const reader = new Reader(bytes);
        try {
          while (reader.hasMore) reader.skip(reader.tag());
        } catch (err) {
          expect(err).toBeInstanceOf(ProtobufError);
        }
      }),
    );
  });
});
