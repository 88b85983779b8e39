import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { intakeTurn, isTurnSpent, paceReading } from './intake.ts';
import { CpuAccount } from './run-queue.ts';

const PIECE = Buffer.alloc(64 * 1024);

it('a turn of the loop is spent when what began in it has taken its time, and the next one is not', async () => {
  await nextTurn();
  expect(isTurnSpent()).toBe(false);
  burn(5);
  expect(isTurnSpent()).toBe(true);
  await nextTurn();
  expect(isTurnSpent()).toBe(false);
});

it('requests that find the turn spent wait for another one, so many at most; one more begins at once', async () => {
  const account = new CpuAccount();
  await nextTurn();
  expect(intakeTurn(account)).toBeUndefined();
  burn(5);
  const waiting = Array.from({ length: 4096 }, () => intakeTurn(account));
  expect(waiting).not.toContain(undefined);
  expect(intakeTurn(account)).toBeUndefined();
  await Promise.all(waiting);
  await nextTurn();
  isTurnSpent();
  burn(5);
  const again = intakeTurn(account);
  expect(again).toBeInstanceOf(Promise);
  await again;
});

it('long bodies are read a few in a turn once it is spent, each to its end, and short ones at once', async () => {
  const bodies = Array.from({ length: 40 }, () => new PassThrough({ highWaterMark: 1 << 20 }));
  const short = new PassThrough();
  const read: number[] = bodies.map(() => 0);
  let ended = 0;
  let shortBytes = 0;
  bodies.forEach((body, i) => {
    body.on('data', (piece: Buffer) => {
      read[i]! += piece.length;
    });
    body.once('end', () => ended++);
    paceReading(body);
  });
  short.on('data', (piece: Buffer) => {
    shortBytes += piece.length;
  });
  paceReading(short);
  await nextTurn();
  isTurnSpent();
  burn(5);
  short.write('a little');
  for (const body of bodies) {
    body.write(PIECE);
    body.end(PIECE);
  }
  expect(shortBytes).toBe(8);
  expect(bodies.every((body) => body.isPaused())).toBe(true);
  await nextTurn();
  expect(bodies.filter((body) => body.isPaused()).length).toBeGreaterThan(0);
  while (ended < bodies.length) await nextTurn();
  expect(read).toEqual(bodies.map(() => 2 * PIECE.length));
});

function burn(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
