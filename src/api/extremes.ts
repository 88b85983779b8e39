/**
 * The least and the greatest of many numbers. `Math.min(...numbers)` takes each as an argument, and a hundred thousand of
 * them are more than the stack holds. Of none they are Infinity and -Infinity, as Math has it.
 */
export function leastOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const number of numbers) least = Math.min(least, number);
  return least;
}

export function greatestOf(numbers: Iterable<number>): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (const number of numbers) greatest = Math.max(greatest, number);
  return greatest;
}
