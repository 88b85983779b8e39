/**
 * The oracle: a store so simple that it can be believed by reading it. It keeps the whole history, answers reads by
 * replay, never forgets anything (compaction only moves a mark), and does each call in one go, so that calls happen in
 * the order in which they were made. Leases have no timers: they end when somebody revokes them.
 */
import { StoreError } from '../../../src/store/errors.ts';
import { boundsOf, isInBounds } from '../../../src/store/keys.ts';
import type {
  CallOptions,
  Compare,
  GetResult,
  Key,
  KeyRange,
  KeyValue,
  Lease,
  LeaseId,
  LeaseInfo,
  Op,
  OpResult,
  RangeOptions,
  RangeResult,
  ReadOptions,
  Revision,
  SnapshotInfo,
  Store,
  StoreStatus,
  Txn,
  TxnResult,
  Watch,
  WatchOptions,
} from '../../../src/store/kv.ts';
import { type Change, History } from './history.ts';
import { ModelWatch } from './model-watch.ts';
import { checkTxn } from './txn-rules.ts';

const minimumTtlSeconds = 2;

export class ModelStore implements Store {
  readonly past: History = new History();
  #revision: Revision = 1;
  #compactRevision: Revision = 0;
  #lastLease: LeaseId = 0n;
  readonly #leases = new Map<LeaseId, number>();
  readonly #watches = new Set<ModelWatch>();
  #isClosed = false;

  get compactRevision(): Revision {
    return this.#compactRevision;
  }

  async get(key: Key, options: ReadOptions & CallOptions = {}): Promise<GetResult> {
    const { revision, kvs } = await this.range({ key }, options);
    return { revision, kv: kvs[0] };
  }

  async range(range: KeyRange, options: RangeOptions & CallOptions = {}): Promise<RangeResult> {
    this.#checkCall(options);
    boundsOf(range);
    this.#checkReadable(options.revision);
    return this.#read(range, options, this.past.stateAt(this.#revision), this.#revision);
  }

  async txn(txn: Txn, options: CallOptions = {}): Promise<TxnResult> {
    this.#checkCall(options);
    checkTxn(txn);
    const state = this.past.stateAt(this.#revision);
    const branch = chosen(txn, state);
    const ops = flat(branch);
    for (const op of ops) if (op.kind === 'put') this.#checkPut(op, state);
    for (const op of ops) if (op.kind === 'range') this.#checkReadable(op.options?.revision);
    const changes: Change[] = [];
    const results = branch.steps.map((step) => this.#runStep(step, state, changes));
    this.#commit(changes);
    return { succeeded: branch.succeeded, revision: this.#revision, results };
  }

  watch(range: KeyRange, options: WatchOptions = {}): Watch {
    const { fromRevision = this.#revision + 1, prevKv = false, signal } = options;
    const watch = new ModelWatch(range, {
      fromRevision,
      prevKv,
      signal,
      currentRevision: () => this.#revision,
      compactRevision: () => this.#compactRevision,
      onEnd: (ended) => this.#watches.delete(ended),
    });
    if (this.#isClosed) watch.end(closedError());
    else if (fromRevision < this.#compactRevision) watch.end(this.#compacted(fromRevision));
    else this.#watches.add(watch);
    for (const [revision, events] of this.past.revisionsFrom(fromRevision)) watch.offer(revision, events);
    return watch;
  }

  async revision(options: CallOptions = {}): Promise<Revision> {
    this.#checkCall(options);
    return this.#revision;
  }

  async compact(revision: Revision, options: CallOptions = {}): Promise<void> {
    this.#checkCall(options);
    if (revision > this.#revision) throw this.#future(revision);
    if (revision <= this.#compactRevision) throw this.#compacted(revision);
    this.#compactRevision = revision;
  }

  async grantLease(ttlSeconds: number, options: { readonly id?: LeaseId } & CallOptions = {}): Promise<Lease> {
    this.#checkCall(options);
    let id = options.id;
    while (id === undefined) if (!this.#leases.has(++this.#lastLease)) id = this.#lastLease;
    if (this.#leases.has(id)) throw new StoreError('LeaseExists', `Cannot grant lease ${id}: it exists`);
    const granted = Math.max(ttlSeconds, minimumTtlSeconds);
    this.#leases.set(id, granted);
    return { id, ttlSeconds: granted };
  }

  async keepLeaseAlive(id: LeaseId, options: CallOptions = {}): Promise<number> {
    this.#checkCall(options);
    return this.#leases.get(id) ?? 0;
  }

  async revokeLease(id: LeaseId, options: CallOptions = {}): Promise<void> {
    this.#checkCall(options);
    this.#checkLease(id);
    this.#commit(this.#keysOf(id).map((key) => ({ key, value: undefined })));
    this.#leases.delete(id);
  }

  async leaseInfo(id: LeaseId, options: CallOptions = {}): Promise<LeaseInfo | undefined> {
    this.#checkCall(options);
    const ttl = this.#leases.get(id);
    if (ttl === undefined) return undefined;
    return { id, grantedTtlSeconds: ttl, remainingSeconds: ttl, keys: this.#keysOf(id) };
  }

  async leases(options: CallOptions = {}): Promise<readonly LeaseId[]> {
    this.#checkCall(options);
    return [...this.#leases.keys()];
  }

  async status(options: CallOptions = {}): Promise<StoreStatus> {
    this.#checkCall(options);
    const { count } = await this.range({ prefix: '' });
    const facts = { revision: this.#revision, sizeBytes: count, sizeInUseBytes: count, problems: [] };
    return { backend: 'embedded', version: 'model', ...facts };
  }

  snapshot(): Promise<SnapshotInfo> {
    throw new Error('Cannot take a snapshot of the model');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const watch of [...this.#watches]) watch.end(closedError());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #runStep(step: Step, state: Map<Key, KeyValue>, changes: Change[]): OpResult {
    if (!('steps' in step)) return this.#run(step, state, changes);
    const results = step.steps.map((inner) => this.#runStep(inner, state, changes));
    return { kind: 'txn', succeeded: step.succeeded, results };
  }

  #run(op: PlainOp, state: Map<Key, KeyValue>, changes: Change[]): OpResult {
    const nextRevision = this.#revision + 1;
    switch (op.kind) {
      case 'put': {
        const { key } = op;
        const prev = state.get(key);
        const value = op.ignoreValue ? prev!.value : op.value;
        const lease = op.ignoreLease ? prev!.lease : (op.lease ?? 0n);
        changes.push({ key, value, lease });
        const createRevision = prev?.createRevision ?? nextRevision;
        const version = (prev?.version ?? 0) + 1;
        state.set(key, { key, value, createRevision, modRevision: nextRevision, version, lease });
        return { kind: 'put', prevKv: op.prevKv ? prev : undefined };
      }
      case 'delete': {
        const found = select(state, op.range);
        for (const { key } of found) {
          changes.push({ key, value: undefined });
          state.delete(key);
        }
        return { kind: 'delete', deleted: found.length, prevKvs: op.prevKv ? found : [] };
      }
      case 'range': {
        const revision = changes.length > 0 ? nextRevision : this.#revision;
        return { kind: 'range', ...this.#read(op.range, op.options ?? {}, state, revision) };
      }
    }
  }

  #read(range: KeyRange, options: RangeOptions, now: Map<Key, KeyValue>, revision: Revision): RangeResult {
    const found = select(options.revision === undefined ? now : this.past.stateAt(options.revision), range);
    const count = found.length;
    if (options.countOnly) return { revision, kvs: [], count, more: false };
    const kvs = found.slice(0, options.limit).map((kv) => (options.keysOnly ? { ...kv, value: new Uint8Array() } : kv));
    return { revision, kvs, count, more: kvs.length < count };
  }

  #commit(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    const events = this.past.record(++this.#revision, changes);
    for (const watch of [...this.#watches]) watch.offer(this.#revision, events);
  }

  #keysOf(lease: LeaseId): Key[] {
    return select(this.past.stateAt(this.#revision), { prefix: '' })
      .filter((kv) => kv.lease === lease)
      .map((kv) => kv.key);
  }

  #checkCall({ signal }: CallOptions): void {
    signal?.throwIfAborted();
    if (this.#isClosed) throw closedError();
  }

  #checkPut(op: Extract<Op, { kind: 'put' }>, state: Map<Key, KeyValue>): void {
    if ((op.ignoreValue || op.ignoreLease) && !state.has(op.key))
      throw new StoreError('KeyNotFound', `Cannot keep what ${op.key} has: it is not there`);
    this.#checkLease(op.lease ?? 0n);
  }

  #checkLease(id: LeaseId): void {
    if (id !== 0n && !this.#leases.has(id)) throw new StoreError('LeaseNotFound', `Cannot find lease ${id}`);
  }

  #checkReadable(revision: Revision | undefined): void {
    if (revision === undefined) return;
    if (revision > this.#revision) throw this.#future(revision);
    if (revision < this.#compactRevision) throw this.#compacted(revision);
  }

  #future(revision: Revision): StoreError {
    const currentRevision = this.#revision;
    return new StoreError('FutureRevision', `Cannot use revision ${revision}: not there yet`, { currentRevision });
  }

  #compacted(revision: Revision): StoreError {
    const compactRevision = this.#compactRevision;
    return new StoreError('Compacted', `Cannot use revision ${revision}: it is compacted`, { compactRevision });
  }
}

type PlainOp = Exclude<Op, { kind: 'txn' }>;
type Step = PlainOp | Branch;
type Branch = { readonly succeeded: boolean; readonly steps: readonly Step[] };

/** What will run, with all that is within it: decided on the state before anything has run. */
function chosen(txn: Txn, state: Map<Key, KeyValue>): Branch {
  const succeeded = (txn.compare ?? []).every((compare) => holds(compare, select(state, compare.range)));
  const ops = (succeeded ? txn.then : txn.else) ?? [];
  return { succeeded, steps: ops.map((op) => (op.kind === 'txn' ? chosen(op.txn, state) : op)) };
}

function flat({ steps }: Branch): PlainOp[] {
  return steps.flatMap((step) => ('steps' in step ? flat(step) : [step]));
}

function closedError(): StoreError {
  return new StoreError('Closed', 'Cannot use the store: it is closed');
}

function select(state: Map<Key, KeyValue>, range: KeyRange): KeyValue[] {
  const bounds = boundsOf(range);
  return [...state.values()].filter(({ key }) => isInBounds(key, bounds)).sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Every key of the range must satisfy it; where there is none, zeros stand in for it, and no value does. */
function holds(compare: Compare, kvs: readonly KeyValue[]): boolean {
  if (kvs.length > 0) return kvs.every((kv) => orderHolds(compare.is, orderOf(compare, kv)));
  if (compare.target === 'value') return false;
  const absent = { key: '', value: new Uint8Array(), createRevision: 0, modRevision: 0, version: 0, lease: 0n };
  return orderHolds(compare.is, orderOf(compare, absent));
}

function orderOf(compare: Compare, kv: KeyValue): number {
  if (compare.target === 'value') return Buffer.compare(kv.value, compare.than);
  if (compare.target === 'lease') return kv.lease < compare.than ? -1 : kv.lease > compare.than ? 1 : 0;
  return kv[compare.target] - compare.than;
}

function orderHolds(is: Compare['is'], order: number): boolean {
  if (is === '=') return order === 0;
  if (is === '!=') return order !== 0;
  return is === '<' ? order < 0 : order > 0;
}
