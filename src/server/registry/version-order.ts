/**
 * The order in which versions of one group are preferred: general availability before beta before alpha, then the
 * higher number; what does not look like a version comes last, by the alphabet. The first one is what clients choose.
 */
const pattern = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const stages: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/** Negative if `a` is preferred to `b`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [pattern.exec(a), pattern.exec(b)];
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  return (
    stage(right) - stage(left) || Number(right[1]) - Number(left[1]) || Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}

function stage([, , name]: RegExpExecArray): number {
  return name === undefined ? 2 : stages[name]!;
}
