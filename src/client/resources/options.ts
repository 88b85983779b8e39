/** Options of calls, and how they go on the wire. */
import type { Headers, Query } from '../transport/transport-options.ts';
import { type FieldSelection, fieldSelectorText, type LabelSelection, labelSelectorText } from './selectors.ts';

export type CallOptions = {
  /** That of the context if not set; of cluster-wide resources it is ignored. */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Does not wait for the client's `rateLimit`: for what must not come late. */
  readonly isUrgent?: boolean | undefined;
  /** Gets the headers of the answer. */
  readonly onHeaders?: ((headers: Headers) => void) | undefined;
};

export type GetOptions = CallOptions & {
  /** `'0'`: whatever a cache has; a version: not older than that. Without it the answer is current. */
  readonly resourceVersion?: string | undefined;
};

export type SelectOptions = {
  /** Instead of one namespace. */
  readonly allNamespaces?: boolean | undefined;
  readonly labelSelector?: LabelSelection | undefined;
  readonly fieldSelector?: FieldSelection | undefined;
  /**
   * Which part of the objects, by a hash: `shardRange(object.metadata.uid, '0x0', '0x8000000000000000')` is one half.
   * Sent as it is; alpha in Kubernetes 1.36. A server that does not know it gives everything: lists of one that does
   * say `metadata.shardInfo`.
   */
  readonly shardSelector?: string | undefined;
};

export type ListOptions = CallOptions &
  SelectOptions & {
    readonly resourceVersion?: string | undefined;
    readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined;
    /** At most so many items; `metadata.continue` leads to the rest. */
    readonly limit?: number | undefined;
    readonly continue?: string | undefined;
  };

export type WriteOptions = CallOptions & {
  /** Everything is done but the writing. */
  readonly dryRun?: boolean | undefined;
  /** Who owns the fields that are written. */
  readonly fieldManager?: string | undefined;
  /** What happens to fields the server does not know: Warn. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined;
};

export type ApplyOptions = WriteOptions & {
  readonly fieldManager: string;
  /** Takes fields over that others own. */
  readonly force?: boolean | undefined;
};

export type DeleteOptions = CallOptions & {
  readonly dryRun?: boolean | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  /** What happens to dependents. */
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  /** The object must still be this one. */
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
};

/** Not by shard: a server that does not know of it would delete everything. */
export type DeleteCollectionOptions = DeleteOptions & Omit<ListOptions, 'limit' | 'continue' | 'shardSelector'>;

export function selectQuery({ labelSelector, fieldSelector, shardSelector }: SelectOptions): Query {
  return {
    labelSelector: labelSelectorText(labelSelector),
    fieldSelector: fieldSelectorText(fieldSelector),
    shardSelector: shardSelector || undefined,
  };
}

export function listQuery(options: ListOptions): Query {
  const { resourceVersion, resourceVersionMatch, limit, continue: token } = options;
  return { ...selectQuery(options), resourceVersion, resourceVersionMatch, limit, continue: token };
}

export function writeQuery({ dryRun, fieldManager, fieldValidation }: WriteOptions): Query {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation };
}

/** Everything goes into the body: a server that gets one does not look at the query. */
export function deleteBody(options: DeleteOptions): object {
  const { dryRun, gracePeriodSeconds, propagationPolicy, preconditions } = options;
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(dryRun && { dryRun: ['All'] }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy && { propagationPolicy }),
    ...(preconditions && { preconditions }),
  };
}
