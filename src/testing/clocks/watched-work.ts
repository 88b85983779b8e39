/**
 * What a virtual clock stands still for: a store that somebody waits for, since a disk is not hurried, and connections
 * within the process through which something goes. Watches of the store are not waited for, only what has an answer.
 */
import type { Duplex } from 'node:stream';
import type { Store } from '../../store/index.ts';

export type WatchedStore = {
  readonly store: Store;
  readonly isAtWork: () => boolean;
  /** When all that is asked now is answered. */
  readonly untilAnswered: () => Promise<unknown>;
};

export function watchedStore(store: Store): WatchedStore {
  const asked = new Set<Promise<unknown>>();
  const count = async <T>(answer: Promise<T>): Promise<T> => {
    asked.add(answer);
    try {
      return await answer;
    } finally {
      asked.delete(answer);
    }
  };
  const watched = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const answer = (value as (...args: unknown[]) => unknown).apply(target, args);
        return answer instanceof Promise ? count(answer) : answer;
      };
    },
  });
  return { store: watched, isAtWork: () => asked.size > 0, untilAnswered: () => Promise.allSettled(asked) };
}

export type WatchedDial = { readonly dial: () => Duplex; readonly isAtWork: () => boolean };

/** `isAtWork` tells whether something went through any of its connections since it was last asked. */
export function watchedDial(dial: () => Duplex): WatchedDial {
  let hasStirred = false;
  const stir = <A extends unknown[], R>(method: (...args: A) => R) =>
    function stirring(this: Duplex, ...args: A): R {
      hasStirred = true;
      return method.apply(this, args);
    };
  return {
    dial: () => {
      const end = dial();
      end.write = stir(end.write as never) as typeof end.write;
      end.push = stir(end.push as never) as typeof end.push;
      return end;
    },
    isAtWork: () => {
      const was = hasStirred;
      hasStirred = false;
      return was;
    },
  };
}
