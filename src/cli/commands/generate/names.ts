/** Names of a module, each given once: a second one that would be the same gets something behind it. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken);
  }

  /** The name itself, or with `ending`, or with a number. */
  give(name: string, ending = ''): string {
    let given = this.#taken.has(name) ? `${name}${ending}` : name;
    for (let number = 2; this.#taken.has(given); number++) given = `${name}${ending}${number}`;
    this.#taken.add(given);
    return given;
  }
}
