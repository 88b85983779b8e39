/** Options of a reflector, and the sink it delivers to. */
import type { Known } from '../lazy/spec-sharing.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ReflectorCounts } from '../observing/informer-metrics.ts';
import type { SelectOptions } from '../resources/options.ts';
import type { ReflectorState } from './reflector-state.ts';

export type ReflectorOptions = SelectOptions & {
  /** That of the context. */
  readonly namespace?: string | undefined;
  /** The pause after a failure, before jitter: from 800 ms to 30 s. */
  readonly backoff?: { readonly minMs?: number | undefined; readonly maxMs?: number | undefined } | undefined;
  /** How long a stream must live to be called healthy: 30 s. */
  readonly healthyMs?: number | undefined;
  /** How long to wait until a watch is accepted: 30 s. */
  readonly headersTimeoutMs?: number | undefined;
  /** A stream that is silent for longer is dead: 75 s, since servers send a bookmark a minute. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long the initial state may take to come by stream; after that it is listed in pages: 60 s. */
  readonly initialTimeoutMs?: number | undefined;
  /**
   * How long a stream is asked to live, at least and at most: 300 and 600, so that many that began together do not end
   * together. Shortly before its end the next one takes its place.
   */
  readonly lifetimeSeconds?: readonly [min: number, max: number] | undefined;
  /**
   * `any`: the very first state may be what the server has in its cache, which costs it less and can be older than what
   * others have seen already; the watch then brings it up to date. `consistent` without it. Once something was
   * delivered, no state that is fetched is older than that.
   */
  readonly initialRead?: 'consistent' | 'any' | undefined;
  /** false: list in pages without asking for a stream first. */
  readonly useWatchList?: boolean | undefined;
  /** Of one page of a list: 500. */
  readonly pageItems?: number | undefined;
};

/**
 * Called in the order of the server's history, without waiting: what takes long belongs behind a queue. What it throws
 * is a bug, and stops the reflector.
 */
export interface ReflectorSink<T extends AnyObject> {
  /**
   * The whole state at one version. It may be of a new history, unless it is certain that it goes on from what was
   * delivered before: then the same version need not be the same object. It may be large: with a promise the sink may
   * get it ready in slices, while nothing else is delivered, and then gives the function that takes it over.
   */
  replace(objects: readonly T[], resourceVersion: string, mayBeNewHistory: boolean): void | Promise<() => void>;
  upsert(object: T): void;
  /** The last state of what is gone. */
  remove(object: T): void;
  /** Nothing else has happened up to this version. */
  progress(resourceVersion: string): void;
  /**
   * What was delivered last of an object, if new versions may share with it what has not changed: that is frozen, whatever
   * else is.
   */
  readonly known?: Known | undefined;
  /** Not for every version: only when it does something else than before. */
  changed(state: ReflectorState): void;
}

/** Why it is not where it should be; it lasts until a watch is open again, through all that is tried in between. */
export type LastError = {
  readonly error: unknown;
  /** Waiting alone will not mend it. */
  readonly isRefusal: boolean;
};

/** Before anything has happened. */
export function noCounts(): { -readonly [name in keyof ReflectorCounts]: number } {
  return {
    lists: 0,
    pagedLists: 0,
    unknownHistories: 0,
    streams: 0,
    rotations: 0,
    failures: 0,
    events: 0,
    bookmarks: 0,
  };
}
