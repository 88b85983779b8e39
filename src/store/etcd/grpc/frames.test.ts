import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { Deframer, frame } from './frames.ts';

describe('Deframer', () => {
  it('gives back the messages that were framed, however the bytes are cut', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 });
    fc.assert(
      fc.property(messages, fc.array(fc.integer({ min: 1, max: 30 })), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(frame));
        const deframer = new Deframer(1000);
        const got: Buffer[] = [];
        let at = 0;
        for (const size of [...cuts, bytes.length + 1]) {
          deframer.push(bytes.subarray(at, at + size), (message) => got.push(Buffer.from(message)));
          at += size;
        }
        expect(got.map((message) => message.toString('hex'))).toEqual(sent.map((m) => Buffer.from(m).toString('hex')));
        expect(deframer.isInside).toBe(false);
      }),
    );
  });

  it('refuses a compressed frame and one above the limit', () => {
    const ignore = () => {};
    expect(() => new Deframer(1000).push(Buffer.from([1, 0, 0, 0, 0]), ignore)).toThrow('first byte is 1');
    expect(() => new Deframer(1000).push(Buffer.from([0, 0, 0, 4, 0]), ignore)).toThrow('above the limit of 1000');
  });

  it('takes time with the length of a message, in the smallest of pieces', async () => {
    const make = (length: number) => frame(Buffer.alloc(length));
    const run = (bytes: Buffer) => {
      const deframer = new Deframer(2 ** 31);
      let got = 0;
      for (let i = 0; i < bytes.length; i++) deframer.push(bytes.subarray(i, i + 1), () => got++);
      expect(got).toBe(1);
    };
    await expectLinear('a message byte by byte', { make, run, from: 50_000, limit: 800_000 });
  });

  it('holds no more than twice what has come, whatever is announced', () => {
    const deframer = new Deframer(2 ** 31);
    const bytes = frame(Buffer.alloc(100_000));
    bytes.writeUInt32BE(2 ** 31 - 1, 1);
    for (let i = 0; i < bytes.length; i += 7) {
      deframer.push(bytes.subarray(i, i + 7), () => {});
      expect(deframer.heldBytes).toBeLessThanOrEqual(Math.max(64, 2 * (i + 7)));
    }
  });

  it('knows that it is inside a message', () => {
    const deframer = new Deframer(1000);
    deframer.push(frame(Buffer.alloc(10)).subarray(0, 12), () => {});
    expect(deframer.isInside).toBe(true);
  });
});
