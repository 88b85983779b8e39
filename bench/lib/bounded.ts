/**
 * One benchmark within its time. Always true: it is over when its limit is, whether or not it heeds the signal, and whoever
 * asked is told in words why it did not finish; nothing it left waiting keeps the others from their turn.
 */
export type Bounds = {
  readonly limitMs: number;
  /** Whoever runs all of them stops. */
  readonly signal: AbortSignal;
};

export async function runBounded(
  name: string,
  { limitMs, signal: stop }: Bounds,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  stop.throwIfAborted();
  // Not AbortSignal.timeout: Node 20 may collect one that only a combined signal refers to, and then it never fires.
  const limit = new AbortController();
  const late = new Error(`Cannot finish within ${limitMs / 1000} s`);
  const timer = setTimeout(() => limit.abort(late), limitMs);
  const signal = AbortSignal.any([stop, limit.signal]);
  // What waits for a process or a socket that is gone waits for ever, and the program would end in the middle of it.
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const running = run(signal);
  running.catch(() => {}); // heard below, unless it comes too late
  try {
    await Promise.race([running, aborted]);
  } catch (err) {
    throw new Error(`Cannot finish benchmark ${JSON.stringify(name)}`, { cause: signal.reason ?? err });
  } finally {
    clearTimeout(timer);
  }
}
