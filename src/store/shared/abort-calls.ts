/**
 * Many calls that wait under one signal, with one listener on it: servers have signals that last as long as they do, and a
 * listener for each call would be taken for a leak, and be slow to remove.
 */

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `abandon` when the signal fires, unless the returned function was called before. */
export function onAbort(signal: AbortSignal | undefined, abandon: () => void): () => void {
  if (!signal) return () => {};
  const calls = waiting.get(signal) ?? listenTo(signal);
  const call = () => abandon(); // the same function may wait twice
  calls.add(call);
  return () => void calls.delete(call);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  waiting.set(signal, calls);
  signal.addEventListener(
    'abort',
    () => {
      for (const call of [...calls]) call();
      calls.clear();
    },
    { once: true },
  );
  return calls;
}
