/** Two ends in memory behave as a connection does: in order, with backpressure, ending at both ends. */
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { makePair } from './in-process.ts';

it('what is written to one end is read from the other, whole and in order', async () => {
  const [one, other] = makePair();
  const sent = Array.from({ length: 200 }, (_, i) => Buffer.alloc(10_000, i));
  for (const piece of sent) one.write(piece);
  one.end();
  const got: Buffer[] = [];
  for await (const piece of other) got.push(piece as Buffer);
  expect(Buffer.concat(got).equals(Buffer.concat(sent))).toBe(true);
});

it('a writer waits for a reader', async () => {
  const [one, other] = makePair();
  let written = 0;
  for (let i = 0; i < 100; i++) one.write(Buffer.alloc(10_000), () => written++);
  await new Promise((resolve) => setImmediate(resolve));
  expect(written).toBeLessThan(20);
  other.resume();
  one.end();
  await once(other, 'end');
  expect(written).toBe(100);
});

it('destroying one end closes the other, and lets a writer that waits go', async () => {
  const [one, other] = makePair();
  one.on('error', () => {});
  for (let i = 0; i < 20; i++) one.write(Buffer.alloc(10_000));
  other.destroy();
  await once(one, 'close');
  expect([one.destroyed, other.destroyed]).toEqual([true, true]);
});

it('who has written may use its memory again: what is read does not change with it', async () => {
  const [one, other] = makePair();
  const lent = Buffer.from('first');
  one.write(lent, () => lent.write('other'));
  one.end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(lent.toString()).toBe('other');
  const got: Buffer[] = [];
  for await (const piece of other) got.push(piece as Buffer);
  expect(Buffer.concat(got).toString()).toBe('first');
});
