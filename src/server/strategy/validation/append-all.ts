/**
 * `list.push(...more)` for lists that a client has filled: a call takes each element as an argument, and a hundred thousand
 * of them are more than the stack holds.
 */
export function appendAll<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}

/** Whoever has found so many faults in one list looks no further: no answer has room for them. */
export const mostFaults = 10_000;

/** What `check` finds in each of a list that a client has filled, in order, up to `mostFaults`. */
export function faultsOf<T, F>(list: Iterable<T>, check: (item: T, index: number) => readonly F[]): F[] {
  const faults: F[] = [];
  let index = 0;
  for (const item of list) {
    if (faults.length > mostFaults) break;
    appendAll(faults, check(item, index++));
  }
  return faults;
}
