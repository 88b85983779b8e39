/**
 * What goes on beside reads and writes from the opening of a store to its closing. A chore ends with the signal of the
 * store, quietly; anything else that it throws is a bug, and reaches the top.
 */
import type { Clock } from '../../api/index.ts';
import { isStoreError } from '../errors.ts';

/** The end of a chore: a store that closes has not failed. */
export async function untilStopped(chore: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await chore;
  } catch (err) {
    if (!signal.aborted) throw err;
  }
}

export async function every(ms: number, clock: Clock, signal: AbortSignal, work: () => Promise<void>): Promise<never> {
  for (;;) {
    await clock.sleep(ms, signal);
    await work();
  }
}

/** There will be another time. */
export function unlessFull(err: unknown): void {
  if (!isStoreError(err, 'NoSpace')) throw err;
}
