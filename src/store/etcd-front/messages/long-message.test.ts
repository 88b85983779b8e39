import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Writer } from '../../../api/protobuf.ts';
import { encodeKeyValue } from '../../key-value-record.ts';
import type { KeyValue } from '../../kv.ts';
import { LongMessage } from './long-message.ts';

const pair: fc.Arbitrary<KeyValue> = fc.record({
  key: fc.string({ maxLength: 200 }).map((text) => Buffer.from(text).toString('latin1')),
  value: fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.constant(new Uint8Array(200_000))),
  createRevision: fc.nat(),
  modRevision: fc.nat(),
  version: fc.nat(300),
  lease: fc.bigInt({ min: 0n, max: 2n ** 62n }),
});

it('is what it would be if it were made at once, and as long as it says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { maxLength: 20 }), fc.array(pair, { maxLength: 5 }), async (outer, inner) => {
      const within = await new LongMessage().write((w) => w.bool(1, true)).pairs(3, inner);
      const message = (await new LongMessage().write((w) => w.int(1, 7)).pairs(2, outer)).message(9, within);
      const wanted = new Writer().int(1, 7);
      for (const kv of outer) wanted.bytes(2, encodeKeyValue(kv));
      wanted.message(9, (w) => {
        w.bool(1, true);
        for (const kv of inner) w.bytes(3, encodeKeyValue(kv));
      });
      const pieces = [...message.pieces()];
      expect(Buffer.concat(pieces).equals(wanted.finish())).toBe(true);
      expect(message.size).toBe(wanted.length);
    }),
    { numRuns: 50 },
  );
});

it('comes in pieces of a bounded size', async () => {
  const kv = { key: 'k', value: Buffer.alloc(1000), createRevision: 1, modRevision: 1, version: 1, lease: 0n };
  const message = await new LongMessage().pairs(2, Array(3000).fill(kv));
  const sizes = [...message.pieces()].map(({ length }) => length);
  expect(sizes.length).toBeGreaterThan(10);
  expect(Math.max(...sizes)).toBeLessThan(300_000);
});
