/**
 * How long others have to wait: the work is done while the event loop is watched, and what counts is the CPU time that
 * passes between one turn of it and the next. In CPU time of this process, so a loaded machine does not change the answer.
 */
export type Turns<T> = { readonly result: T; readonly longestCpuMs: number; readonly turns: number };

export async function watchTurns<T>(work: () => Promise<T>): Promise<Turns<T>> {
  let longestCpuMs = 0;
  let turns = 0;
  let before = process.cpuUsage();
  let isOver = false;
  const look = () => {
    const { user, system } = process.cpuUsage(before);
    longestCpuMs = Math.max(longestCpuMs, (user + system) / 1000);
    before = process.cpuUsage();
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
