/**
 * `list.push(...more)` for lists that a client has filled: a call takes each element as an argument, and a hundred thousand
 * of them are more than the stack holds.
 */
export function appendAll<T>(list: T[], more: Iterable<T>): void {
  for (const one of more) list.push(one);
}
