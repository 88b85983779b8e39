/** Chance from a seed: the same numbers every time, and a way of its own for every input, so that one can be made again alone. */
import { randomFrom } from '../faults/crash-script.ts';

export class Dice {
  readonly #random: () => number;

  constructor(seed: number, index = 0) {
    this.#random = randomFrom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
    for (let i = 0; i < 3; i++) this.#random(); // neighbouring seeds begin alike
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  chance(of: number): boolean {
    return this.#random() < of;
  }

  oneOf<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** Each with its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.#random() * choices.reduce((sum, [weight]) => sum + weight, 0);
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
