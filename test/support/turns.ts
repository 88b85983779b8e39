/**
 * How long others have to wait: the work is done while the event loop is watched, and what counts is the CPU time that
 * passes between one turn of it and the next. In CPU time, so a loaded machine does not change the answer: that of this
 * process, or, where it can be had, of its main thread alone, without the threads that collect garbage.
 */
export type Turns<T> = { readonly result: T; readonly longestCpuMs: number; readonly turns: number };

/** `cpuClock`: CPU time so far, in milliseconds. */
export async function watchTurns<T>(work: () => Promise<T>, cpuClock = processCpuMs): Promise<Turns<T>> {
  let longestCpuMs = 0;
  let turns = 0;
  let before = cpuClock();
  let isOver = false;
  const look = () => {
    longestCpuMs = Math.max(longestCpuMs, cpuClock() - before);
    before = cpuClock();
    turns++;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  try {
    const result = await work();
    await new Promise<void>((resolve) => setImmediate(resolve));
    return { result, longestCpuMs, turns };
  } finally {
    isOver = true;
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
