/**
 * A controller reads its own writes: before a key is reconciled again, the cache has what the time before wrote.
 *
 * Remembered is the version of each answer, by key and object. It has been seen when the cache holds the object in that
 * version or a later one, or when the informer has passed that version; a deletion, when the object is gone or on its
 * way out. Versions are compared within one kind only. What the selection plainly does not hold is not waited for: by
 * its namespace, its labels, and by what a field selector finds at the path that it names.
 *
 * The wait is bounded. An answer and its event are milliseconds apart; one that is missing after `timeoutMs` (5 s)
 * means a watch that is broken or silent: StaleCacheError, and the key comes back after its backoff. Given up on
 * instead is what perhaps no event tells of (only the server knows for sure what a field selector or a shard holds),
 * and after 90 s on an open watch, when a bookmark must have come, everything: the server was set back. A write whose
 * answer was lost is not known of.
 */
import { setMaxListeners } from 'node:events';
import {
  type Clock,
  compareVersions,
  type FieldRequirement,
  LabelSelector,
  parseFieldSelector,
  parseLabelSelector,
} from '../../api/index.ts';
import { fieldSelectorText, labelSelectorText, resourceName } from '../../client/advanced.ts';
import { type AnyObject, type Informer, keyOf, type Resource } from '../../client/index.ts';
import type { Selected } from './define-controller.ts';

/** The cache is behind what was written through it, and acting on it could do things twice. */
export class StaleCacheError extends Error {
  override readonly name = 'StaleCacheError';
}

/** One declared kind, and what of it is held. */
export type Holding = {
  readonly informer: Informer<AnyObject>;
  readonly selection: Omit<Selected<AnyObject>, 'resource'>;
};

/** What was written to one object. */
type Write = {
  readonly informer: Informer<AnyObject>;
  readonly objectKey: string;
  /** The newest that was answered; undefined if it was only deleted. */
  version: string | undefined;
  uid: string | undefined;
  /** Of the object that was deleted. */
  deletedUid: string | undefined;
  /** An event will tell of it. */
  isSure: boolean;
  at: number;
};

/** Longer than the minute between two bookmarks, and than the silence after which a watch is opened anew. */
const GIVE_UP_MS = 90_000;

export type OwnWritesOptions = {
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** How many keys are remembered: 10,000; beyond, those that were written the longest ago are forgotten. */
  readonly limit?: number;
};

export class OwnWrites {
  readonly #options: OwnWritesOptions;
  readonly #holdings = new Map<string, Holding & { readonly holds: (object: AnyObject) => boolean }>();
  /** By the key of the reconcile, then by kind and key of what it wrote. */
  readonly #writes = new Map<string, Map<string, Write>>();
  readonly #waiting = new Set<() => void>();
  #forgotten = 0;

  constructor(holdings: Iterable<Holding>, options: OwnWritesOptions) {
    this.#options = options;
    for (const holding of holdings)
      this.#holdings.set(resourceName(holding.informer.resource), { ...holding, holds: holderOf(holding) });
  }

  /** Writes that were given up on. */
  get forgotten(): number {
    return this.#forgotten;
  }

  wrote(key: string, resource: Resource, object: AnyObject): void {
    const holding = this.#holdings.get(resourceName(resource));
    if (!holding) return;
    const objectKey = keyOf(object);
    // What the selection does not hold will bring no event, unless it was held until now.
    const isKnown = holding.informer.get(objectKey) !== undefined;
    if (!isKnown && !this.#find(key, resource, objectKey) && !holding.holds(object)) return;
    const write = this.#remember(key, resource, holding.informer, objectKey);
    const { fieldSelector, shardSelector } = holding.selection;
    write.isSure ||= isKnown || (fieldSelector === undefined && shardSelector === undefined);
    write.version = object.metadata.resourceVersion;
    write.uid = object.metadata.uid;
    if (hasSeen(write)) this.#forget(key, resource, objectKey);
  }

  /** Without a uid it is the one that the cache has. */
  deleted(key: string, resource: Resource, objectKey: string, uid?: string): void {
    const informer = this.#holdings.get(resourceName(resource))?.informer;
    if (!informer) return;
    const write = this.#remember(key, resource, informer, objectKey);
    write.isSure = true; // either it is in the cache, or there is nothing to wait for
    write.deletedUid = uid ?? write.uid ?? informer.get(objectKey)?.metadata.uid;
    if (hasSeen(write)) this.#forget(key, resource, objectKey);
  }

  /** Some informer has changed. */
  notice(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when the cache has all that was written for this key, or will not have it; StaleCacheError. */
  async seen(key: string, signal: AbortSignal): Promise<void> {
    const writes = this.#writes.get(key);
    if (!writes) return;
    const isSettled = await this.#wait(writes, signal);
    if (!isSettled) {
      const missing = [...writes.values()].find((write) => this.#mustCome(write));
      if (missing) throw staleCache(key, missing.informer, this.#options.timeoutMs);
      this.#forgotten += writes.size;
    }
    this.#writes.delete(key);
  }

  #mustCome({ informer, isSure, at }: Write): boolean {
    if (informer.freshness.state !== 'current') return true;
    return isSure && this.#options.clock.now() - at < GIVE_UP_MS;
  }

  /** False if the time is up. */
  async #wait(writes: Map<string, Write>, signal: AbortSignal): Promise<boolean> {
    dropSeen(writes);
    if (writes.size === 0) return true;
    const ended = new AbortController();
    setMaxListeners(0, ended.signal); // one for each write
    const stop = () => ended.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    let isLate = false;
    const late = this.#options.clock.sleep(this.#options.timeoutMs, ended.signal).then(
      () => {
        isLate = true;
        this.notice();
      },
      () => {},
    );
    // Events reach `notice`; a bookmark that passes the version is not an event.
    for (const { informer, version } of writes.values())
      if (version !== undefined)
        informer.reached(version, ended.signal).then(
          () => this.notice(),
          () => {},
        );
    try {
      while (writes.size > 0 && !isLate) {
        signal.throwIfAborted();
        await this.#next(signal);
        dropSeen(writes);
      }
      return writes.size === 0;
    } finally {
      signal.removeEventListener('abort', stop);
      ended.abort();
      await late;
    }
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #find(key: string, resource: Resource, objectKey: string): Write | undefined {
    return this.#writes.get(key)?.get(`${resourceName(resource)} ${objectKey}`);
  }

  #remember(key: string, resource: Resource, informer: Informer<AnyObject>, objectKey: string): Write {
    let writes = this.#writes.get(key);
    if (!writes) {
      writes = new Map();
      this.#writes.set(key, writes);
      this.#makeRoom();
    }
    const id = `${resourceName(resource)} ${objectKey}`;
    const known = writes.get(id);
    const nothing = { version: undefined, uid: undefined, deletedUid: undefined, isSure: false };
    const write: Write = { informer, objectKey, ...nothing, ...known, at: this.#options.clock.now() };
    writes.set(id, write);
    return write;
  }

  #forget(key: string, resource: Resource, objectKey: string): void {
    const writes = this.#writes.get(key);
    writes?.delete(`${resourceName(resource)} ${objectKey}`);
    if (writes?.size === 0) this.#writes.delete(key);
  }

  /** Keys that are never reconciled again would otherwise stay. */
  #makeRoom(): void {
    const { limit = 10_000 } = this.#options;
    if (this.#writes.size <= limit) return;
    let left = Math.ceil(limit / 10);
    for (const key of this.#writes.keys()) {
      this.#writes.delete(key);
      if (--left === 0) break;
    }
  }
}

function dropSeen(writes: Map<string, Write>): void {
  for (const [id, write] of writes) if (hasSeen(write)) writes.delete(id);
}

function hasSeen({ informer, objectKey, version, uid, deletedUid }: Write): boolean {
  const known = informer.get(objectKey)?.metadata;
  const isStillThere = known && deletedUid && known.uid === deletedUid && !known.deletionTimestamp;
  if (isStillThere) return false;
  if (version === undefined) return true;
  if (known && known.uid === uid && isAtLeast(known.resourceVersion, version)) return true;
  const { resourceVersion } = informer;
  return resourceVersion !== undefined && isAtLeast(resourceVersion, version);
}

/** Certainly: what cannot be compared can only be equal. */
function isAtLeast(version: string, wanted: string): boolean {
  return (compareVersions(version, wanted) ?? -1) >= 0;
}

function holderOf({ selection }: Holding): (object: AnyObject) => boolean {
  const { namespace, allNamespaces, labelSelector, fieldSelector } = selection;
  const namespaces = allNamespaces || namespace === undefined ? undefined : new Set([namespace].flat());
  const labels =
    labelSelector instanceof LabelSelector ? labelSelector : parseLabelSelector(labelSelectorText(labelSelector) ?? '');
  const { requirements } = parseFieldSelector(fieldSelectorText(fieldSelector) ?? '');
  return (object) => {
    const { metadata } = object;
    if (!labels.matches(metadata.labels)) return false;
    if (namespaces !== undefined && metadata.namespace !== undefined && !namespaces.has(metadata.namespace))
      return false;
    return requirements.every((requirement) => mayHold(object, requirement));
  };
}

/**
 * As servers do it for the fields that can be selected by: they are named by their path, what is absent is empty, or
 * false where that is asked for. Only a plain no counts; a field that is not text of its own is the server's secret.
 */
function mayHold(object: AnyObject, { field, operator, value }: FieldRequirement): boolean {
  let found: unknown = object;
  for (const name of field.split('.')) found = (found as Record<string, unknown> | null | undefined)?.[name];
  if (typeof found === 'object' && found !== null) return true;
  const isEqual = found === undefined || found === null ? value === '' || value === 'false' : String(found) === value;
  return isEqual === (operator === '=');
}

function staleCache(key: string, { resource, freshness }: Informer<AnyObject>, timeoutMs: number): StaleCacheError {
  const state = freshness.state === 'current' ? 'silent' : freshness.state;
  const why = `the cache of ${resourceName(resource)} is ${state}, and has not got its own writes within ${timeoutMs} ms`;
  return new StaleCacheError(`Cannot reconcile "${key}": ${why}`, { cause: freshness.error });
}
