/** Points over time, the last `LIMIT` of them: what plots and sparklines draw. A counter becomes a rate. */
export const LIMIT = 600;

export class Series {
  readonly times: number[] = [];
  readonly values: (number | null)[] = [];
  #last: { readonly at: number; readonly count: number } | undefined;

  push(at: number, value: number | null): void {
    this.times.push(at);
    this.values.push(value);
    if (this.times.length <= LIMIT) return;
    this.times.shift();
    this.values.shift();
  }

  /** Per second since the last one; a counter that has gone back began anew. */
  pushCount(at: number, count: number | undefined): void {
    const before = this.#last;
    this.#last = count === undefined ? undefined : { at, count };
    const isKnown = count !== undefined && before !== undefined && at > before.at;
    this.push(at, isKnown ? Math.max(0, count - before.count) / (at - before.at) : null);
  }

  get last(): number | undefined {
    return this.values.at(-1) ?? undefined;
  }

  get highest(): number {
    return this.values.reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  }
}
