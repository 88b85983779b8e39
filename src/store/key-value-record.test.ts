import { fromJSON } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtobufError } from '../api/protobuf.ts';
import { decodeKeyValue, encodeKeyValue } from './key-value-record.ts';
import type { KeyValue } from './kv.ts';

const int64 = (id: number) => ({ type: 'int64', id });
/** An implementation that is not ours, to compare bytes with. */
const oracle = fromJSON(
  {
    nested: {
      KeyValue: {
        fields: {
          key: { type: 'bytes', id: 1 },
          create_revision: int64(2),
          mod_revision: int64(3),
          version: int64(4),
          value: { type: 'bytes', id: 5 },
          lease: int64(6),
        },
      },
      Echo: { methods: { call: { requestType: 'KeyValue', responseType: 'KeyValue', comment: '' } } },
    },
  },
  { keepCase: true, longs: String, defaults: true },
);
const { requestDeserialize: oracleDecode } = (oracle.Echo as unknown as Record<string, OracleMethod>).call!;
type OracleMethod = { requestDeserialize: (bytes: Buffer) => Record<string, unknown> };

const keyValues: fc.Arbitrary<KeyValue> = fc.record({
  key: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  value: fc.uint8Array({ maxLength: 400 }),
  createRevision: fc.maxSafeNat(),
  modRevision: fc.maxSafeNat(),
  version: fc.maxSafeNat(),
  lease: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
});

describe('a KeyValue record', () => {
  it('has these bytes', () => {
    const kv = { key: 'a\xff', value: Buffer.from('v'), createRevision: 2, modRevision: 300, version: 1, lease: 0n };
    expect(encodeKeyValue(kv).toString('hex')).toBe('0a0261ff1002' + '18ac022001' + '2a0176');
    expect(
      encodeKeyValue({ ...kv, lease: -1n })
        .toString('hex')
        .slice(-22),
    ).toBe('30ffffffffffffffffff01');
  });

  it('leaves zero fields out', () => {
    const empty = { key: '', value: new Uint8Array(0), createRevision: 0, modRevision: 0, version: 0, lease: 0n };
    expect(encodeKeyValue(empty)).toHaveLength(0);
    expect(decodeKeyValue(new Uint8Array(0))).toEqual(empty);
  });

  it('comes back as it was, and others read the same in it', () => {
    fc.assert(
      fc.property(keyValues, (kv) => {
        const bytes = encodeKeyValue(kv);
        const back = decodeKeyValue(new Uint8Array(bytes));
        expect({ ...back, value: new Uint8Array(back.value) }).toEqual(kv);
        const theirs = oracleDecode(bytes);
        expect(Buffer.from(theirs.key as Uint8Array).toString('latin1')).toBe(kv.key);
        expect(Buffer.from(theirs.value as Uint8Array).equals(kv.value)).toBe(true);
        expect([theirs.create_revision, theirs.mod_revision, theirs.version, theirs.lease]).toEqual(
          [kv.createRevision, kv.modRevision, kv.version, kv.lease].map(String),
        );
      }),
    );
  });

  it('shows its value without copying it', () => {
    const bytes = encodeKeyValue({
      ...{ key: 'k', createRevision: 1, modRevision: 1, version: 1, lease: 0n },
      value: Buffer.from('shared'),
    });
    expect(decodeKeyValue(bytes).value.buffer).toBe(bytes.buffer);
  });

  it('is read past fields of a later version', () => {
    expect(decodeKeyValue(Buffer.from('0a016b' + '9a0603616263' + '1807', 'hex'))).toMatchObject({
      key: 'k',
      modRevision: 7,
    });
  });

  it('that is cut short is refused', () => {
    const whole = encodeKeyValue({
      ...{ key: 'key', createRevision: 1000, modRevision: 1000, version: 1, lease: 77n },
      value: Buffer.alloc(20),
    });
    let refused = 0;
    for (let length = 1; length < whole.length; length++)
      try {
        decodeKeyValue(whole.subarray(0, length));
      } catch (err) {
        expect(err).toBeInstanceOf(ProtobufError);
        refused++;
      }
    expect(refused).toBe(whole.length - 1 - 5); // five cuts fall between two fields
  });
});
