/** What an informer is told, and what it tells of itself. */
import type { CheckpointMetrics, CheckpointOptions } from '../checkpoint/checkpoint-options.ts';
import type { ReflectorCounts, ReflectorOptions } from '../reflector/reflector-options.ts';
import type { AnyObject } from '../resources/objects.ts';
import type { SelectOptions } from '../resources/options.ts';
import type { LabelSelection } from '../resources/selectors.ts';
import type { Indexers } from './indexer.ts';
import type { HandlerMetrics } from './subscription.ts';

export type InformerOptions<T extends AnyObject, I extends Indexers<T> = Indexers<T>> = SelectOptions & {
  /** One or several, each with a watch of its own; that of the context without it. */
  readonly namespace?: string | readonly string[] | undefined;
  /** `{ byNode: (pod) => [pod.spec.nodeName] }` */
  readonly indexers?: I | undefined;
  /**
   * What is kept of an object, such as without its managed fields. Name, namespace, uid and version must stay. If it
   * throws, the object is kept as it came.
   */
  readonly transform?: ((object: T) => T) | undefined;
  /** Whether writes to cached objects throw: yes, unless NODE_ENV is `production`. */
  readonly freeze?: boolean | undefined;
  /**
   * A file, or a folder for files of several, that the store is kept in: a process that starts again begins with what it
   * had, goes on from there without a list, and handlers are told what changed meanwhile. What is kept of an object must
   * be JSON.
   */
  readonly checkpoint?: string | CheckpointOptions | undefined;
  readonly reflector?: Omit<ReflectorOptions, keyof SelectOptions | 'namespace'> | undefined;
  /** Errors of handlers, index functions and `transform` that nobody else takes; without it they are process warnings. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /**
   * With it, every object is checked against the validator of its resource as it comes. One that does not fit is told
   * here, and kept like any other: to leave it out would be to lie about what is there.
   */
  readonly onInvalid?: ((invalid: InvalidObject<T>) => void) | undefined;
  /**
   * How often the store is held against a list of the server's metadata, in the background: once an hour; 0 is never. It
   * finds what nothing else can, such as a server that was set back where its history cannot be named. A store that does not agree is told to `onError`, and fetched anew.
   */
  readonly auditMs?: number | undefined;
  readonly onFreshness?: ((freshness: Freshness) => void) | undefined;
  /** How long handlers may take to end what they are at when it is closed: 5 s. One that takes longer is told to `onError`. */
  readonly closeGraceMs?: number | undefined;
};

export type InvalidObject<T extends AnyObject> = {
  readonly key: string;
  readonly object: T;
  /** `replicas: Expected number` */
  readonly issues: readonly string[];
};

/**
 * - `syncing`: the whole state has not come yet
 * - `current`: every watch is open
 * - `interrupted`: some watch is being taken up again, or for the first time since a checkpoint was read; reads are
 *   answered from what is known, which `lagMs` tells the age of
 * - `refused`: the server says no, and waiting will not mend it: see `error`. It is asked again all the same.
 * - `stopped`: by its owner, or by a bug: see `error`
 */
export type InformerState = 'syncing' | 'current' | 'interrupted' | 'refused' | 'stopped';

export type Freshness = {
  readonly state: InformerState;
  /** The store has everything up to this version; undefined while it is syncing. */
  readonly resourceVersion: string | undefined;
  /** Since the server was last heard: the store is no older than that. With several watches, the worst. */
  readonly lagMs: number | undefined;
  readonly lastContact: Date | undefined;
  /** How long the slowest handler has been at its present event: the store goes on, but it is told of nothing. */
  readonly busyMs: number;
  /** What keeps it from being current, if something does. */
  readonly error: unknown;
};

export type InformerMetrics = ReflectorCounts & {
  readonly objects: number;
  readonly added: number;
  readonly updated: number;
  readonly deleted: number;
  /** How often it was held against the server. */
  readonly audits: number;
  /** How many objects were found to be wrong by that. */
  readonly divergences: number;
  readonly handlers: readonly HandlerMetrics[];
  /** If it has one. */
  readonly checkpoint?: CheckpointMetrics;
};

export type Where = {
  readonly namespace?: string | undefined;
  readonly labelSelector?: LabelSelection | undefined;
};

/** The store at one moment. */
export type Snapshot<T extends AnyObject> = {
  readonly objects: ReadonlyMap<string, T>;
  readonly resourceVersion: string;
};
