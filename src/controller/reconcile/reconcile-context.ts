/** What a reconcile is given beside its object. */
import type { AnyObject, Resource, ResourceClient } from '../../client/index.ts';
import type { Leadership } from '../election/leader-work.ts';
import type { BoundRecorder } from '../events/event-recorder.ts';
import type { CacheReader } from './declared-cache.ts';
import type { ReconcileLog } from './reconcile-log.ts';

/**
 * Typed reads and writes against the server. Unlike a client of one's own it works in the key's namespace unless asked
 * otherwise, is aborted with the reconcile, writes only while its manager leads, and remembers what it wrote: the next
 * reconcile of the key waits until the cache has it.
 */
export interface ReconcileClient {
  resource<T extends AnyObject>(resource: Resource<T>, namespace?: string): ResourceClient<T>;
}

export type ReconcileContext = {
  readonly controller: string;
  /** The name of the manager's cluster; undefined if it has none. */
  readonly cluster: string | undefined;
  /** `namespace/name`, or `name` of what is cluster-wide. */
  readonly key: string;
  /** Empty for what is cluster-wide. */
  readonly namespace: string;
  readonly name: string;
  /** Why, such as `updated ReplicaSet shop/web-1`; a few, and how many there was no room for. */
  readonly causes: readonly string[];
  readonly omittedCauses: number;
  /** 1, and one more for each failure since the last success. */
  readonly attempt: number;
  readonly priority: number;
  /** Fires when the time is up, when leadership is lost, and when the manager stops and its grace is over. */
  readonly signal: AbortSignal;
  readonly cache: CacheReader;
  readonly client: ReconcileClient;
  readonly recorder: BoundRecorder;
  readonly log: ReconcileLog;
  /** Undefined without an election, and for controllers that run without leading. */
  readonly leadership: Leadership | undefined;
  /** For objects written by other means than `client`: the next reconcile of this key waits until the cache has it. */
  wrote(object: AnyObject): void;
};
