/** What a reconcile may answer, besides nothing: look at this key again later. */
import { parseGoDurationMs } from '../../api/index.ts';
import type { WorkResult } from '../queue/worker-pool.ts';

export type ReconcileResult = WorkResult;

/** Milliseconds, or `1h30m`, `30s`, `500ms`. Failures of the key are forgiven, as if it had returned nothing. */
export function requeueAfter(delay: number | string): { readonly requeueAfterMs: number } {
  const requeueAfterMs = typeof delay === 'string' ? parseGoDurationMs(delay) : delay;
  if (!(requeueAfterMs >= 0)) throw new RangeError(`Cannot requeue after ${JSON.stringify(delay)}: it is in the past`);
  return { requeueAfterMs };
}
