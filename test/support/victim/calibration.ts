/**
 * How much slower than the machine of the figures a core is here and now: the CPU time of a loop of known cost, over what
 * it took there when nothing else ran. A core that is shared, or another make of it, takes longer for the same work.
 */
const REFERENCE_MS = 33;
const MOST = 4;
const LOOPS = 3;

const text = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ name: `n${i}`, value: i, list: [i, i + 1] })));

/** At least 1. */
export function slowness(): number {
  const times = Array.from({ length: LOOPS }, loopMs).sort((a, b) => a - b);
  return Math.min(MOST, Math.max(1, times[LOOPS >> 1]! / REFERENCE_MS));
}

function loopMs(): number {
  const before = process.cpuUsage();
  for (let i = 0; i < 3; i++) JSON.stringify(JSON.parse(text));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
