/**
 * The strategy of a kind: what the server does to its objects beyond what every kind has in common. Defaults, what it
 * decides itself, what it refuses. Plain functions on objects that have been decoded and checked against their schema;
 * the write path (rest/) calls them in this order:
 *
 *   create  setDefaults → prepareCreate → validate → warnings
 *   update  keepOther → setDefaults → prepareUpdate → validate → validateUpdate → warnings
 *
 * Each may change the object it is given and never the old one. It collects every refusal instead of stopping at
 * the first, in the order in which kube-apiserver names them.
 */
import type { FieldError, KubeObject } from '../../api/index.ts';
import type { UserInfo } from '../request/user-info.ts';

/** Both ends are in it. */
export type PortRange = { readonly first: number; readonly last: number };

/** Reading objects of a kind: which, where and by which name; a star stands for all there may be. */
export type Reading = {
  readonly verb: 'get' | 'list';
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
};

export type StrategyContext = {
  /** The time of this write, RFC 3339 in whole seconds. */
  readonly now: string;
  /** Which part is written: `''` is the object itself. */
  readonly subresource: string;
  /** Nothing will be kept of it. */
  readonly isDryRun?: boolean;
  /** Whether containers may be privileged here. */
  readonly allowsPrivileged?: boolean;
  /** What services may have on every node; those of kube-apiserver, if it is not said. */
  readonly nodePorts?: PortRange | undefined;
  /** Who writes; absent where it is the server itself. */
  readonly user?: UserInfo;
  /** Whether who writes may also read something; absent where it is the server itself. */
  readonly mayRead?: (reading: Reading) => Promise<boolean>;
  /** All objects of a built-in resource, for what must exist (classes, parameters). */
  readonly list: (group: string, plural: string, namespace?: string) => Promise<readonly KubeObject[]>;
  /**
   * The same for what must be unique among them (node ports, cluster IPs): the write takes place only while none of them
   * has changed. A new object that is unique among those there are then is tried again on them (`isUniqueAmong`, which a strategy
   * that asks must have); any other write is prepared anew.
   */
  readonly listHeld: (group: string, plural: string) => Promise<readonly KubeObject[]>;
  /**
   * The same as it was a moment ago at the latest: for what changes seldom, and is asked again when not found. Others
   * are given the same objects: nobody may change them.
   */
  readonly listKnown: (
    group: string,
    plural: string,
    namespace?: string,
  ) => readonly KubeObject[] | Promise<readonly KubeObject[]>;
  /** One object as it was a moment ago, or if it was not there then, as the store has it now. Nobody may change it. */
  readonly known: (
    group: string,
    plural: string,
    namespace: string,
    name: string,
  ) => KubeObject | undefined | Promise<KubeObject | undefined>;
  /** The same where nobody asks whether it has come since: what is only taken along where it is there. */
  readonly remembered: StrategyContext['known'];
  /** How many objects of a resource a namespace has, and the objects, read as they are looked at. */
  readonly walk: (
    group: string,
    plural: string,
    namespace: string,
  ) => Promise<{ readonly total: number; readonly objects: Iterable<KubeObject> }>;
  readonly warn: (text: string) => void;
  /** Of the request: whoever works long under it is charged for it. */
  readonly signal?: AbortSignal;
};

export type DeleteOptions = { readonly gracePeriodSeconds?: number };

export type Strategy = {
  /** It gives out what no two objects may have: whether an object has nothing that any other one of these has. */
  readonly isUniqueAmong?: (object: KubeObject, others: readonly KubeObject[]) => boolean;
  readonly setDefaults?: (object: KubeObject) => void;
  readonly prepareCreate?: (object: KubeObject, context: StrategyContext) => void | Promise<void>;
  /** What a write to a part of an object leaves as it was, beyond what every kind's does. */
  readonly keepOther?: (object: KubeObject, old: KubeObject, subresource: string) => void;
  readonly prepareUpdate?: (object: KubeObject, old: KubeObject, context: StrategyContext) => void | Promise<void>;
  /** `old` is what it takes the place of, absent on create. */
  readonly validate?: (
    object: KubeObject,
    old?: KubeObject,
    context?: StrategyContext,
  ) => FieldError[] | Promise<FieldError[]>;
  readonly validateUpdate?: (object: KubeObject, old: KubeObject, context?: StrategyContext) => FieldError[];
  /** What the writer is told about an object that is accepted; `old` as above. */
  readonly warnings?: (object: KubeObject, old: KubeObject | undefined, context: StrategyContext) => readonly string[];
  /** Whether it is another one for its controllers though nothing but metadata changed. */
  readonly isRenewed?: (object: KubeObject, old: KubeObject) => boolean;
  /** Why nobody deletes the object of this name by itself. */
  readonly whyKept?: (name: string) => string | undefined;
  /** How long an object stays when it is deleted; kinds without it go at once. */
  readonly gracePeriodSeconds?: (object: KubeObject, options: DeleteOptions) => number;
  /** What else its deletion leaves in an object when it is first asked for; may hold it by a finalizer. */
  readonly markDeleted?: (object: KubeObject, now: string) => void;
};

/** Of a kind that has none of its own. */
export const noStrategy: Strategy = {};
