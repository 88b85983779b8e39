/**
 * Latencies of a long run in little memory: counted by size, each size a hundredth larger than the one before. What is read
 * from it is right within a hundredth, whatever has been put in.
 */
import type { Percentiles } from '../../lib/cluster-shape.ts';

const STEP = Math.log(1.01);
const LEAST_MS = 0.01;
const SIZES = 1700; // up to some minutes

export class Latencies {
  readonly #counts = new Uint32Array(SIZES);
  #count = 0;
  #maxMs = 0;

  add(ms: number): void {
    const size = ms <= LEAST_MS ? 0 : Math.min(SIZES - 1, Math.ceil(Math.log(ms / LEAST_MS) / STEP));
    this.#counts[size]!++;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  addAll(other: Latencies): void {
    other.#counts.forEach((count, size) => {
      this.#counts[size]! += count;
    });
    this.#count += other.#count;
    this.#maxMs = Math.max(this.#maxMs, other.#maxMs);
  }

  percentiles(): Percentiles {
    return { count: this.#count, p50Ms: this.#at(0.5), p99Ms: this.#at(0.99), maxMs: this.#maxMs };
  }

  #at(part: number): number {
    let left = this.#count * part;
    for (const [size, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return Math.min(this.#maxMs, LEAST_MS * Math.exp(size * STEP));
    }
    return this.#maxMs;
  }
}
