/** Chance that can be repeated: the same seed gives the same numbers, and the same choices. */

/** Numbers from 0 up to, and without, 1. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Random {
  /** The next number from 0 up to, and without, 1. */
  readonly next: () => number;

  /** `way` sets apart what is drawn from the same seed. */
  constructor(seed: number, way = 0) {
    this.next = randomFrom(Math.imul(seed, 0x9e3779b1) ^ way);
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error('Cannot pick: there is nothing to choose from');
    return choices[this.below(choices.length)]!;
  }

  /** Between `least` and `most` of them, each once. */
  some<T>(choices: readonly T[], least: number, most: number): T[] {
    const left = [...choices];
    const count = Math.min(left.length, least + this.below(most - least + 1));
    return Array.from({ length: count }, () => left.splice(this.below(left.length), 1)[0]!);
  }
}

/** Of a test that is random: what the variable `NAME` says, so that a run can be repeated; else that of all tests of this run, or a new one. */
export function seedOf(name: string): number {
  return Number(process.env[name] ?? process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
}
