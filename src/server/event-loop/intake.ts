/**
 * What comes in, a little of it in each turn of the loop: when a thousand clients have sent something, all of their sockets are
 * read before anybody else is heard. Whoever finds its turn spent waits for another one.
 *
 * Always true: a body is held up only while others are read, and only one that is long; those held up are read again in the
 * order in which they stopped, and one that sends nothing keeps nobody waiting. So many requests wait at most; one more begins at
 * once, and is for flow control to reject.
 */
import type { Readable } from 'node:stream';
import { type CpuAccount, runQueue } from './run-queue.ts';

/** Of a turn of the loop, for what comes in. */
const INTAKE_MS = 3;
/** Shorter bodies are requests, and wait as such. */
const LONG_BYTES = 16 * 1024;
const BODIES_PER_TURN = 8;
/** Each holds some kilobytes while it waits. */
const MOST_WAITING = 4096;

let sinceMs: number | undefined;
let waiting = 0;
const paused: Readable[] = [];

/** Whether others have had all there is for them of this turn of the loop. */
export function isTurnSpent(): boolean {
  const nowMs = performance.now();
  if (sinceMs !== undefined) return nowMs - sinceMs >= INTAKE_MS;
  sinceMs = nowMs;
  setImmediate(endTurn);
  return false;
}

/** For a request, in the name of whoever is charged for it: undefined if it may begin at once. */
export function intakeTurn(account: CpuAccount): Promise<void> | undefined {
  if (!isTurnSpent() || waiting >= MOST_WAITING) return undefined;
  waiting++;
  return runQueue.requestTurn(account).then(leave);
}

/** From now on this body is read when there is time for it. */
export function paceReading(body: Readable): void {
  let bytes = 0;
  body.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes < LONG_BYTES || !isTurnSpent()) return;
    body.pause();
    if (paused.push(body) === 1) setImmediate(resumeSome);
  });
}

function leave(): void {
  waiting--;
}

function endTurn(): void {
  sinceMs = undefined;
}

function resumeSome(): void {
  for (const body of paused.splice(0, BODIES_PER_TURN)) body.resume();
  if (paused.length > 0) setImmediate(resumeSome);
}
