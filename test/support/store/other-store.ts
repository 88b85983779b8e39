/** A store of which a test replaces some calls: one that fails, one that is held up, a watch that breaks. */
import type { Store, Watch } from '../../../src/store/kv.ts';

/** `store`, but for the calls of `other`. */
export function withOther(store: Store, other: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const own = other[name as keyof Store] ?? target[name as keyof Store];
      return typeof own === 'function' ? (own as () => unknown).bind(target) : own;
    },
  });
}

export type BreakableWatch = { readonly watch: Store['watch']; readonly breakWatch: (error: Error) => void };

/** Watches of a store of which the last that was opened can be broken; `storeOf` is asked for each. */
export function breakableWatch(storeOf: () => Store): BreakableWatch {
  let broken: (error: Error) => void = () => {};
  const watch: Store['watch'] = (...args) => {
    const real = storeOf().watch(...args);
    const failure = new Promise<never>((_resolve, reject) => {
      broken = reject;
    });
    failure.catch(() => {});
    const fragile: Watch = {
      next: () => Promise.race([real.next(), failure]),
      return: () => real.return(),
      started: () => real.started(),
      requestProgress: () => real.requestProgress(),
      [Symbol.asyncIterator]: () => fragile,
      [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
    };
    return fragile;
  };
  return { watch, breakWatch: (error) => broken(error) };
}
