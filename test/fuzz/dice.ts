/** Chance from a seed: the same numbers every time, and a way of its own for every input, so that one can be made again alone. */
import { Random } from '../support/random.ts';

export class Dice extends Random {
  constructor(seed: number, index = 0) {
    super(seed, Math.imul(index + 1, 0x85ebca6b));
    for (let i = 0; i < 3; i++) this.next(); // neighbouring seeds begin alike
  }

  /** Each with its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    return choices[choices.length - 1]![1];
  }

  times<T>(most: number, make: (i: number) => T): T[] {
    return Array.from({ length: this.below(most + 1) }, (_, i) => make(i));
  }
}
