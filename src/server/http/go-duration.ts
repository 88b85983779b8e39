/** Durations as Go writes them: `300ms`, `1.5h`, `2h45m`, `-1s`, `0`. */

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds, or undefined for what is no duration. */
export function parseGoDuration(text: string): number | undefined {
  const [, sign = '', amount = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (amount === '0') return 0;
  const part = /([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)/gy;
  let ms = 0;
  let end = 0;
  for (let match = part.exec(amount); match; match = part.exec(amount)) {
    ms += Number(match[1]) * UNIT_MS[match[2]!]!;
    end = part.lastIndex;
  }
  if (end === 0 || end !== amount.length) return undefined;
  return sign === '-' ? -ms : ms;
}
