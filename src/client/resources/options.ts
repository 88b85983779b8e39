/** Options of calls, and how they go on the wire. */
import type { Query } from '../transport/transport-options.ts';
import { type FieldSelection, fieldSelectorText, type LabelSelection, labelSelectorText } from './selectors.ts';

export type CallOptions = {
  /** Of the context if not told; of cluster-wide resources it is ignored. */
  readonly namespace?: string;
  readonly signal?: AbortSignal;
};

export type GetOptions = CallOptions & {
  /** `'0'`: whatever a cache has; a version: not older than that. Without it the answer is current. */
  readonly resourceVersion?: string;
};

export type SelectOptions = {
  /** Instead of one namespace. */
  readonly allNamespaces?: boolean;
  readonly labelSelector?: LabelSelection;
  readonly fieldSelector?: FieldSelection;
};

export type ListOptions = CallOptions &
  SelectOptions & {
    readonly resourceVersion?: string;
    readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
    /** At most so many items; `metadata.continue` leads to the rest. */
    readonly limit?: number;
    readonly continue?: string;
  };

export type WriteOptions = CallOptions & {
  /** Everything is done but the writing. */
  readonly dryRun?: boolean;
  /** Who owns the fields that are written. */
  readonly fieldManager?: string;
  /** What happens to fields the server does not know: Warn. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
};

export type ApplyOptions = WriteOptions & {
  readonly fieldManager: string;
  /** Takes fields over that others own. */
  readonly force?: boolean;
};

export type DeleteOptions = CallOptions & {
  readonly dryRun?: boolean;
  readonly gracePeriodSeconds?: number;
  /** What happens to dependents. */
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  /** The object must still be this one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
};

export type DeleteCollectionOptions = DeleteOptions & Omit<ListOptions, 'limit' | 'continue'>;

export function selectQuery({ labelSelector, fieldSelector }: SelectOptions): Query {
  return { labelSelector: labelSelectorText(labelSelector), fieldSelector: fieldSelectorText(fieldSelector) };
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
