/**
 * How long to wait before trying again: twice as long each time up to a ceiling, and then a random part of it taken
 * off, so that many clients of one member that came back do not all arrive at once.
 */
const firstMs = 20;

export function backoffMs(failures: number, ceilingMs: number, random: () => number = Math.random): number {
  const full = Math.min(ceilingMs, firstMs * 2 ** Math.min(failures, 20));
  return full * (0.5 + random() / 2);
}
