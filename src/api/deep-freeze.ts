/**
 * Makes what many readers share safe from each of them: a write to it throws, at the place that is wrong.
 *
 * All the way down; what is frozen already is taken to be so all the way down. Without recursion: servers take objects
 * that are nested deeper than the stack.
 */
export function deepFreeze<T>(value: T): T {
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const part = rest.pop();
    if (typeof part !== 'object' || part === null || Object.isFrozen(part)) continue;
    for (const one of Object.values(Object.freeze(part))) rest.push(one);
  }
  return value;
}
