/**
 * Time as an option: whatever waits or measures takes a Clock, so that a test can turn it by hand.
 * A sleep ends early only by its signal, and leaves no listener behind on it.
 */
export interface Clock {
  /** Milliseconds that never go backwards; only differences mean something. */
  now(): number;
  /** Resolves after `ms`; rejects with `signal.reason` as soon as the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What is longer fires at once: timers count in 32 bits, which is 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = makeClock(true);

/** For chores: a process that has nothing else to do may end while they sleep. */
export const backgroundClock: Clock = makeClock(false);

function makeClock(holdsProcess: boolean): Clock {
  return {
    now: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        let timer: ReturnType<typeof setTimeout>;
        const wait = (leftMs: number) => {
          const partMs = Math.min(leftMs, MAX_TIMER_MS);
          timer = setTimeout(() => {
            if (leftMs > partMs) return wait(leftMs - partMs);
            signal?.removeEventListener('abort', stop);
            resolve();
          }, partMs);
          if (!holdsProcess) (timer as unknown as { unref?: () => void }).unref?.();
        };
        const stop = () => {
          clearTimeout(timer);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', stop, { once: true });
        wait(ms);
      }),
  };
}
