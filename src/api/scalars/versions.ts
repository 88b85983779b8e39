/**
 * Which of two resource versions is the later one.
 *
 * Versions of one kind on one server are decimal numbers that grow, of any length: too long for a `number`. They mean
 * nothing between servers, and nothing between kinds unless the server says so. Kubernetes promises this from 1.35 on,
 * and every server before it did the same. What is no such number ("", "abc", "007") can only be equal to itself: then
 * the answer is undefined and not a guess, so that a caller has to say what it does about it.
 */
const decimal = /^(0|[1-9]\d*)$/;

/** Below 0 if `a` is older than `b`, above 0 if it is newer, 0 if they are the same; undefined if nobody can tell. */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : 1;
}

/** Certainly older: what cannot be compared is not. */
export function isBehind(version: string, than: string): boolean {
  return (compareVersions(version, than) ?? 0) < 0;
}
