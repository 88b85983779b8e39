import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { type BodyOptions, BodyReader, discardBody } from './body-reader.ts';

const MIB = 1024 * 1024;
const optionsOf = (more: Partial<BodyOptions> = {}): BodyOptions => ({
  limitBytes: 3 * MIB,
  announcedBytes: undefined,
  grant: () => true,
  refusal: () => new Error('no room'),
  cutOff: () => {},
  ...more,
});
const pieces = (count: number, bytes: number) => Array.from({ length: count }, (_, i) => Buffer.alloc(bytes, i % 251));

it.each([
  ['nothing', []],
  ['one piece', pieces(1, 10)],
  ['large pieces', pieces(20, 60_000)],
  ['small pieces', pieces(16_000, 1)],
  ['small pieces that fill blocks unevenly', pieces(500, 4095)],
  ['all sizes in turn', [...pieces(3, 100), ...pieces(2, 9000), ...pieces(300, 77), ...pieces(1, 5000)]],
])('a body of %s comes out as it went in', async (_what, parts) => {
  const { whole } = new BodyReader(Readable.from(parts), optionsOf());
  expect((await whole).equals(Buffer.concat(parts))).toBe(true);
});

it('holds about as much as has come, in however many pieces', async () => {
  let granted = 0;
  const grant = (bytes: number) => {
    granted += bytes;
    return true;
  };
  const body = await new BodyReader(Readable.from(pieces(15_000, 12)), optionsOf({ grant })).whole;
  expect(body.length).toBe(180_000);
  expect(granted).toBeLessThan(body.length + 2 * 16 * 1024);
});

it('is refused past its limit, in too many pieces, or when there is no room', async () => {
  const read = (parts: Buffer[], more: Partial<BodyOptions> = {}) =>
    new BodyReader(Readable.from(parts), optionsOf(more)).whole;
  await expect(read(pieces(2, 600), { limitBytes: 1000 })).rejects.toMatchObject({ code: 413 });
  await expect(read([], { limitBytes: 1000, announcedBytes: 1001 })).rejects.toMatchObject({ code: 413 });
  await expect(read(pieces(16_385, 1))).rejects.toMatchObject({
    code: 400,
    message: 'the body of the request came in more than 16384 pieces',
  });
  let granted = 0;
  const grant = (bytes: number) => {
    granted += bytes;
    return granted <= 20_000;
  };
  await expect(read(pieces(30, 5000), { grant })).rejects.toThrow('no room');
});

it('is cut off when it goes on and on after it was refused', async () => {
  for (const parts of [pieces(18, MIB), pieces(40_000, 1)]) {
    let cuts = 0;
    const source = new PassThrough({ writableHighWaterMark: MIB });
    const cutOff = () => {
      cuts++;
      source.destroy();
    };
    const { whole } = new BodyReader(source, optionsOf({ limitBytes: 1000, cutOff }));
    whole.catch(() => {});
    await new Promise((resolve) => Readable.from(parts).on('error', resolve).pipe(source).once('close', resolve));
    expect(cuts).toBeGreaterThan(0);
  }
  let cuts = 0;
  const source = new PassThrough();
  const cutOff = () => {
    cuts++;
    source.destroy();
  };
  discardBody(source, cutOff);
  await new Promise((resolve) => Readable.from(pieces(18, MIB)).pipe(source).once('close', resolve));
  expect(cuts).toBeGreaterThan(0);
});

it('takes time in proportion to its pieces', () =>
  expectLinear('a body in small pieces', {
    make: (size) => pieces(size, 1),
    run: (parts) => new BodyReader(Readable.from(parts), optionsOf()).whole,
    from: 2048,
    limit: 16_384,
  }));
