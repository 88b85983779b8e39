/**
 * Listening to a caller's signal for as long as something waits.
 *
 * Always true: the listener is gone once the answer was called. Many calls may share one signal; Node would warn of a
 * leak at the eleventh, so the limit is lifted from every signal that is seen here.
 */
import { setMaxListeners } from 'node:events';

const seen = new WeakSet<AbortSignal>();

/** Calls `listener` when the signal fires, unless the function it answers was called before. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (!signal) return () => {};
  if (!seen.has(signal)) {
    seen.add(signal);
    setMaxListeners(0, signal);
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
