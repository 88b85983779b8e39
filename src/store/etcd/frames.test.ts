import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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

  it('knows that it is inside a message', () => {
    const deframer = new Deframer(1000);
    deframer.push(frame(Buffer.alloc(10)).subarray(0, 12), () => {});
    expect(deframer.isInside).toBe(true);
  });
});
