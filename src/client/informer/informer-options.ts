/** Options of an informer, and what is read from it. */
import type { CheckpointOptions } from '../checkpoint/checkpoint-options.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { Freshness } from '../observing/informer-metrics.ts';
import type { ReflectorOptions } from '../reflector/reflector-options.ts';
import type { SelectOptions } from '../resources/options.ts';
import type { LabelSelection } from '../resources/selectors.ts';
import type { Indexers } from './indexer.ts';

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
  /**
   * Whether writes to cached objects throw: yes, unless NODE_ENV is `production`. Then only those to a `spec` that did not
   * change from one version to the next, which has it from the one before; with false, or a `transform`, none has.
   */
  readonly freeze?: boolean | undefined;
  /**
   * A file, or a folder for files of several, that the store is kept in: a process that starts again begins with what
   * it had, goes on from there without a list, and handlers get what changed meanwhile. What is kept of an object must
   * be JSON.
   */
  readonly checkpoint?: string | CheckpointOptions | undefined;
  readonly reflector?: Omit<ReflectorOptions, keyof SelectOptions | 'namespace'> | undefined;
  /**
   * Errors of handlers, index functions and `transform` that have no other callback; without it they are process
   * warnings.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /**
   * With it, every object is checked against the validator of its resource as it comes. One that does not fit is
   * reported here, and kept like any other: to leave it out would be to lie about what is there.
   */
  readonly onInvalid?: ((invalid: InvalidObject<T>) => void) | undefined;
  /**
   * How often the store is held against a list of the server's metadata, in the background: once an hour; 0 is never.
   * It finds what nothing else can, such as a server that was set back where its history cannot be named. A store that
   * does not agree is reported to `onError`, and fetched anew.
   */
  readonly auditMs?: number | undefined;
  readonly onFreshness?: ((freshness: Freshness) => void) | undefined;
  /**
   * How long handlers may take to end what they are at when it is closed: 5 s. One that takes longer is reported to
   * `onError`.
   */
  readonly closeGraceMs?: number | undefined;
};

export type InvalidObject<T extends AnyObject> = {
  readonly key: string;
  readonly object: T;
  /** `replicas: Expected number` */
  readonly issues: readonly string[];
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
