/**
 * Where in an object a value is: its name or index, and the place of what it is in. Put into words only for those who
 * must be told: most values of most objects are good, and a path for each would cost more than the check.
 */
import { childPath } from '../../api/index.ts';

export type Place = { readonly of: Place | undefined; readonly name: string | number };

/** `spec.containers[0]`; the root is `''`. */
export function pathOf(place: Place | undefined): string {
  const names: (string | number)[] = [];
  for (let one = place; one; one = one.of) names.push(one.name);
  let path = '';
  for (let i = names.length - 1; i >= 0; i--) path = childPath(path, names[i]!);
  return path;
}
