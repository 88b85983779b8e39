/**
 * Time as an option: whatever waits or measures takes a Clock, so that a test can turn it by hand.
 * A sleep ends early only by its signal, and leaves no listener behind on it.
 *
 * Who is given none lives by the process's: `systemClock`, `backgroundClock` and the date `wallNow()`. A test may put a
 * time of its own in their place, for everything at once (`liveBy`). What guards a socket or a disk, or measures work,
 * lives by `hardwareClock` or `holdingClock`, which nobody turns; `scripts/check-clock.mjs` lists who may.
 */
export interface Clock {
  /** Milliseconds that never go backwards; only differences mean something. */
  now(): number;
  /** Resolves after `ms`; rejects with `signal.reason` as soon as the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What is longer fires at once: timers count in 32 bits, which is 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a process can live by in the place of its own time. */
export interface TimeSource extends Clock {
  /** The date, in milliseconds since 1970. */
  wallNow(): number;
}

let replaced: TimeSource | undefined;

/** The time of disks, sockets and measurements. It holds no process. */
export const hardwareClock: Clock = makeClock(false);

/** The same for who is waited for: a process does not end while it sleeps. */
export const holdingClock: Clock = makeClock(true);

export const systemClock: Clock = replaceable(holdingClock);

/** For chores: a process that has nothing else to do may end while they sleep. */
export const backgroundClock: Clock = replaceable(hardwareClock);

/** The date, in milliseconds since 1970. */
export function wallNow(): number {
  return replaced ? replaced.wallNow() : Date.now();
}

/** From now on, until what is returned is called, this process lives by another time. Who sleeps already sleeps on. */
export function liveBy(time: TimeSource): () => void {
  if (replaced && replaced !== time) throw new Error('Cannot live by two times: another was put in place before');
  replaced = time;
  return () => {
    if (replaced === time) replaced = undefined;
  };
}

function replaceable(own: Clock): Clock {
  return {
    now: () => (replaced ?? own).now(),
    sleep: (ms, signal) => (replaced ?? own).sleep(ms, signal),
  };
}

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
