/**
 * The contract of kv.ts as tests. Every backend runs all of it; each group is a room of its own.
 *
 * The tests of one backend run one after the other: compaction concerns a whole server, also a shared one.
 */
import { describe } from 'vitest';
import type { Open, OpenDurable } from '../support/store/store-under-test.ts';
import { describeCompaction } from './compaction.ts';
import { describeCompares } from './compare.ts';
import { describeConcurrency } from './concurrency.ts';
import { describeLeaseExpiry, describeLeases } from './lease.ts';
import { describeLifecycle, describeReopening } from './lifecycle.ts';
import { describeNestedTxns } from './nested-txn.ts';
import { describeRanges } from './range.ts';
import { describeRefusals } from './refusals.ts';
import { describeFreshRevisions, describeRevisions } from './revisions.ts';
import { describeTxns } from './txn.ts';
import { describeWatches } from './watch.ts';
import { describeWatchDelivery } from './watch-delivery.ts';
import { describeWatchEnds } from './watch-end.ts';

export type Exceptions = {
  /** False only for the model, which has no clock, and where the store of another run of this suite sees to it. */
  readonly leasesExpire?: boolean;
  /** False only for servers known to forget the deletes of the very revision they compact at. */
  readonly keepsDeletes?: boolean;
};

export function describeStoreContract(name: string, open: Open, exceptions: Exceptions = {}): void {
  const { leasesExpire = true, keepsDeletes = true } = exceptions;
  describe(`${name} keeps the contract:`, () => {
    describeRevisions(open);
    describeRanges(open);
    describeTxns(open);
    describeNestedTxns(open);
    describeCompares(open);
    describeRefusals(open);
    describeWatches(open);
    describeWatchDelivery(open);
    describeWatchEnds(open);
    describeCompaction(open, { keepsDeletes });
    describeLeases(open);
    if (leasesExpire) describeLeaseExpiry(open);
    describeConcurrency(open);
    describeLifecycle(open);
  });
}

/** Each call of `open` must give a store that nobody has written to. */
export function describeFreshStoreContract(name: string, open: Open): void {
  describe(`${name} keeps the contract:`, () => describeFreshRevisions(open));
}

export function describeDurableStoreContract(name: string, open: OpenDurable): void {
  describe(`${name} keeps the contract:`, () => describeReopening(open));
}
