/**
 * A pool for each target and what it is trusted by; those used longest ago go when there are too many.
 */
import type { CallTarget } from './call-target.ts';

const MAX_POOLS = 128;

export type TargetPool = {
  /** It takes nothing new, and goes when what was begun has ended. */
  close(): Promise<void>;
  /** It goes at once. */
  destroy(): Promise<void>;
};

export class TargetPools<P extends TargetPool> {
  /** In the order of their last use. */
  readonly #pools = new Map<string, P>();
  /** The key of a target costs more to make than to look up. */
  readonly #keys = new WeakMap<CallTarget, string>();
  readonly #retired = new Set<P>();

  get(target: CallTarget): P | undefined {
    const key = this.#keyOf(target);
    const known = this.#pools.get(key);
    if (known && this.#pools.size > 1) {
      this.#pools.delete(key);
      this.#pools.set(key, known);
    }
    return known;
  }

  add(target: CallTarget, pool: P): P {
    this.#pools.set(this.#keyOf(target), pool);
    if (this.#pools.size > MAX_POOLS) this.#retire(this.#pools.keys().next().value!);
    return pool;
  }

  async destroy(): Promise<void> {
    const all = [...this.#pools.values(), ...this.#retired];
    this.#pools.clear();
    this.#retired.clear();
    await Promise.all(all.map((pool) => pool.destroy()));
  }

  #keyOf(target: CallTarget): string {
    let key = this.#keys.get(target);
    if (key === undefined) {
      const { origin, service, serverName, authority, skipsTlsVerify, clientCertificate } = target;
      key = JSON.stringify([origin, service, serverName, authority, skipsTlsVerify, clientCertificate]);
      this.#keys.set(target, key);
    }
    return key;
  }

  #retire(key: string): void {
    const pool = this.#pools.get(key)!;
    this.#pools.delete(key);
    this.#retired.add(pool);
    const forget = () => void this.#retired.delete(pool);
    pool.close().then(forget, forget);
  }
}
