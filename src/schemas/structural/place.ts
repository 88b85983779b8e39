/**
 * Where in an object a value is: its name or index, and the place of what it is in. Put into words only for those who
 * must be told: most values of most objects are good, and a path for each would cost more than the check.
 */
import { childPath, keyPath } from '../../api/index.ts';

export type Place = {
  readonly of: Place | undefined;
  readonly name: string | number;
  /** A key of a map, which rules tell apart from a field. */
  readonly isKey?: boolean;
};

/** `spec.containers[0]`, `spec.labels[app]`; the root is `''`. */
export function pathOf(place: Place | undefined): string {
  const places: Place[] = [];
  for (let one = place; one; one = one.of) places.push(one);
  let path = '';
  for (let i = places.length - 1; i >= 0; i--) {
    const { name, isKey } = places[i]!;
    path = isKey ? keyPath(path, String(name)) : childPath(path, name);
  }
  return path;
}
