/**
 * The store inside this process: durable, one owner per data directory.
 *
 *   txn → Head (judge, give a revision) → WritePipeline (group commit) → #publish → index, hub, answer
 *   read → PublishedState: index at a revision → log          watch → hub while live, log while behind
 *
 * Always true: the published state is what is durable, and all that anybody is shown; the head is what is on its way. What is
 * kept where is said in each room of this folder.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { backgroundClock, type Clock, closeOnce, hardwareClock, untilAborted } from '../../api/index.ts';
import { StoreError } from '../errors.ts';
import { boundsOf, checkKey } from '../keys.ts';
import type {
  CallOptions,
  GetResult,
  Key,
  KeyRange,
  Lease,
  LeaseId,
  LeaseInfo,
  RangeOptions,
  RangeResult,
  ReadOptions,
  Revision,
  SnapshotInfo,
  Store,
  StoreHistory,
  StoreStatus,
  Txn,
  TxnResult,
  Watch,
  WatchOptions,
} from '../kv.ts';
import { type AutoCompaction, runAutoCompaction } from './auto-compaction.ts';
import { every, unlessFull, untilStopped } from './chores.ts';
import { Compactor } from './compactor.ts';
import { ReserveFile } from './disk/reserve-file.ts';
import type { LogEngine } from './engine/engine.ts';
import { EngineGate } from './engine/engine-gate.ts';
import { PageRelease } from './engine/page-release.ts';
import { SealedEngine } from './engine/sealed-engine.ts';
import { FileUpkeep, FREE_BYTES } from './file-upkeep.ts';
import { Lessor } from './lessor.ts';
import { type OpenData, openData, reservePathIn } from './open-data.ts';
import { PublishedState } from './published-state.ts';
import { Quota } from './quota.ts';
import { writeSnapshot } from './snapshot/snapshot-file.ts';
import { type Change, Head } from './state/head.ts';
import { FORMAT, recoverLeases } from './state/recovery.ts';
import { checkTxn, defaultTxnLimits, runTxn, type TxnContext, type TxnLimits } from './state/transaction.ts';
import type { WatchLimits } from './watch/watcher.ts';
import { Watches } from './watches.ts';
import { WritePipeline } from './write-pipeline.ts';

export type EmbeddedStoreOptions = {
  /** Made if it is not there. */
  readonly dataDir: string;
  /** `none` skips the flush: for tests only, a crash of the machine may lose or break everything. */
  readonly durability?: 'fsync' | 'none';
  /** Space in use past which writes answer NoSpace. */
  readonly quotaBytes?: number;
  readonly autoCompaction?: AutoCompaction;
  /** How often watches that want it are sent progress. */
  readonly progressIntervalMs?: number;
  readonly watchLimits?: WatchLimits;
  readonly txnLimits?: TxnLimits;
  readonly clock?: Clock;
  /** Told once if the disk failed: the store has closed itself and must be opened again. */
  readonly onFailure?: (error: StoreError) => void;
  /** Another engine in place of lmdb. */
  readonly openEngine?: (file: string) => LogEngine;
};

const GIB = 1024 ** 3;
const defaultAutoCompaction: AutoCompaction = { mode: 'periodic', retentionMs: 5 * 60_000 };
const defaultWatchLimits: WatchLimits = { events: 10_000, bytes: 8 * 1024 * 1024 };
const SCAN_STEP_KEYS = 1000;
const READS_IN_A_ROW = 500;

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { dataDir, durability = 'fsync', openEngine } = options;
  return new EmbeddedStore(await openData({ dataDir, isDurable: durability === 'fsync', openEngine }), options);
}

class EmbeddedStore implements Store {
  readonly history: StoreHistory;
  readonly maxPutBytes: number;
  readonly #engine: LogEngine;
  readonly #state: PublishedState;
  readonly #head: Head;
  readonly #lessor: Lessor;
  readonly #quota: Quota;
  readonly #compactor: Compactor;
  readonly #pipeline: WritePipeline;
  readonly #gate: EngineGate;
  readonly #upkeep: FileUpkeep;
  readonly #txnLimits: TxnLimits;
  readonly #txnContext: TxnContext;
  readonly #watches: Watches;
  readonly #stop = new AbortController();
  readonly #chores: Promise<void>[];
  #readsInARow = 0;
  #closed: StoreError | undefined;
  readonly close: () => Promise<void>;

  constructor({ engine, recovered, sealFile, history, unlock }: OpenData, options: EmbeddedStoreOptions) {
    this.history = history;
    const clock = options.clock ?? backgroundClock;
    const { index, garbage, revision, compactScheduled, compactFinished } = recovered;
    this.#engine = engine;
    const reserve = options.durability === 'none' ? undefined : new ReserveFile(reservePathIn(options.dataDir));
    this.#gate = new EngineGate(engine);
    const reopen = () => this.#gate.reopen();
    const sealed = new SealedEngine({ engine, ...recovered, reopen, makeRoom: () => this.#upkeep.makeRoom() });
    this.#compactor = new Compactor(compactScheduled, compactFinished, index, garbage);
    this.#state = new PublishedState(engine, recovered, this.#compactor);
    const [state, compactor, gate] = [this.#state, this.#compactor, this.#gate];
    this.#watches = new Watches({ state, compactor, gate, limits: options.watchLimits ?? defaultWatchLimits });
    this.#head = new Head(revision, index, this.#state.read);
    const leases = recoverLeases(recovered, clock);
    const limits = { quotaBytes: options.quotaBytes ?? 2 * GIB, reserveBytes: FREE_BYTES };
    this.#quota = new Quota(engine, options.dataDir, limits, () => this.#pipeline?.pendingBytes ?? 0);
    this.#txnLimits = options.txnLimits ?? defaultTxnLimits;
    this.maxPutBytes = this.#txnLimits.maxRequestBytes;
    this.#txnContext = { head: this.#head, leases, readRange: this.#state.readRange };
    const onFailure = (error: StoreError) => {
      if (this.#closed) return;
      this.#end(error);
      options.onFailure?.(error);
    };
    this.#pipeline = new WritePipeline({
      engine: sealed,
      publish: this.#publish,
      compaction: this.#compactor,
      maxPendingBytes: 256 * 1024 * 1024,
      onFailure,
      onRefusal: () => {
        this.#head.reset(this.#state.revision);
        this.#compactor.forgetAdmitted();
        this.#lessor.reset(sealed.leases, index);
      },
    });
    const [head, pipeline, quota] = [this.#head, this.#pipeline, this.#quota];
    this.#lessor = new Lessor({ leases, head, pipeline, quota });
    const alone = (work: () => Promise<void>) => pipeline.alone(work);
    const pages = new PageRelease({ engine, reopen, alone, isInUse: () => this.#compactor.isPinned });
    this.#upkeep = new FileUpkeep({ engine, sealed, sealFile, reserve, pages, quota, pipeline, onFailure });
    this.#pipeline.wake(); // a compaction that was interrupted goes on
    this.#chores = this.#startChores(options, clock);
    this.close = closeOnce(async () => {
      const pending = this.#pipeline.settled();
      this.#end(new StoreError('Closed', 'Cannot use the store: it is closed'));
      await pending?.catch(() => {}); // what was accepted before still reaches the disk
      this.#pipeline.fail(this.#closed!);
      this.#compactor.fail(this.#closed);
      reserve?.close();
      await Promise.all(this.#chores);
      await this.#pipeline.idle();
      this.#watches.close();
      await engine.close();
      await this.#upkeep.rememberSeal();
      await sealFile.close();
      await unlock();
    });
  }

  // ---- reads

  async get(key: Key, { revision, signal }: ReadOptions & CallOptions = {}): Promise<GetResult> {
    this.#mustBeOpen(signal);
    if (++this.#readsInARow === READS_IN_A_ROW) await this.#letOthersRun(signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(signal);
    return { revision: this.#state.revision, kv: this.#state.get(checkKey(key), revision) };
  }

  async range(range: KeyRange, options: RangeOptions & CallOptions = {}): Promise<RangeResult> {
    this.#mustBeOpen(options.signal);
    if (++this.#readsInARow === READS_IN_A_ROW) await this.#letOthersRun(options.signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(options.signal);
    const { revision } = this.#state;
    const scan = this.#state.scan(boundsOf(range), options);
    const unpin = this.#compactor.pin(options.revision || revision);
    try {
      while (!scan.step(SCAN_STEP_KEYS)) {
        await nextTurn();
        await this.#untilReadable(options.signal);
      }
    } finally {
      unpin();
      this.#pipeline.wake();
    }
    return scan.result(revision, options);
  }

  async revision({ signal }: CallOptions = {}): Promise<Revision> {
    this.#mustBeOpen(signal);
    return this.#state.revision;
  }

  get knownRevision(): Revision | undefined {
    return this.#closed ? undefined : this.#state.revision;
  }

  get knownCompaction(): Revision | undefined {
    return this.#closed ? undefined : this.#compactor.revision;
  }

  // ---- writes

  async txn(txn: Txn, { signal }: CallOptions = {}): Promise<TxnResult> {
    this.#mustBeOpen(signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(signal);
    checkTxn(txn, this.#txnLimits);
    this.#pipeline.checkRoom();
    this.#quota.check(txn);
    const { succeeded, results, changes } = runTxn(txn, this.#txnContext);
    const { revision } = this.#head;
    // An answer may rest on changes of others that are still on their way: it waits for those too.
    const done = changes.length > 0 ? this.#pipeline.add({ changes }) : this.#pipeline.settled();
    if (done !== undefined) await untilAborted(done, signal);
    return { succeeded, revision, results };
  }

  async compact(revision: Revision, { physical, signal }: { physical?: boolean } & CallOptions = {}): Promise<void> {
    this.#mustBeOpen(signal);
    this.#compactor.admit(revision, this.#state.revision);
    const marked = this.#pipeline.add({ meta: ['compact.scheduled', revision] }).then(() => {
      this.#compactor.schedule(revision);
      this.#pipeline.wake();
    });
    await untilAborted(marked, signal);
    if (physical) await untilAborted(this.#compactor.removed(revision), signal);
  }

  // ---- leases

  async grantLease(ttlSeconds: number, options: { id?: LeaseId } & CallOptions = {}): Promise<Lease> {
    this.#mustBeOpen(options.signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(options.signal);
    return this.#lessor.grant(ttlSeconds, options);
  }

  async keepLeaseAlive(id: LeaseId, { signal }: CallOptions = {}): Promise<number> {
    this.#mustBeOpen(signal);
    return this.#lessor.keepAlive(id);
  }

  async revokeLease(id: LeaseId, { signal }: CallOptions = {}): Promise<void> {
    this.#mustBeOpen(signal);
    await untilAborted(this.#lessor.revoke(id), signal);
  }

  async leaseInfo(id: LeaseId, options: { keys?: boolean } & CallOptions = {}): Promise<LeaseInfo | undefined> {
    this.#mustBeOpen(options.signal);
    return this.#lessor.info(id, options);
  }

  async leases(options: CallOptions = {}): Promise<readonly LeaseId[]> {
    this.#mustBeOpen(options.signal);
    return this.#lessor.ids(options);
  }

  // ---- watches

  watch(range: KeyRange, options: WatchOptions = {}): Watch {
    this.#mustBeOpen(undefined);
    return this.#watches.open(range, options);
  }

  // ---- the store itself

  async status({ signal }: CallOptions = {}): Promise<StoreStatus> {
    this.#mustBeOpen(signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(signal);
    this.#quota.refresh();
    const { fileBytes, usedBytes } = this.#engine.size();
    return {
      backend: 'embedded',
      version: String(FORMAT),
      revision: this.#state.revision,
      sizeBytes: fileBytes,
      sizeInUseBytes: usedBytes,
      problems: [this.#quota.problem(), this.#upkeep.problem].filter((problem) => problem !== undefined),
      watchers: this.#watches.size,
      compaction: this.#compactor.figures(),
    };
  }

  async snapshot(file: string, { signal }: CallOptions = {}): Promise<SnapshotInfo> {
    this.#mustBeOpen(signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(signal);
    const revision = this.#state.revision;
    const compactRevision = this.#compactor.revision;
    const unpin = this.#compactor.pin(0);
    try {
      return await writeSnapshot(file, {
        engine: this.#engine,
        revision,
        compactRevision,
        untilReadable: () => this.#untilReadable(undefined),
        signal: this.#untilClosed(signal),
      });
    } finally {
      unpin();
      this.#pipeline.wake();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // ---- private

  /** Durable now: into the index, to the watchers, and only then do the callers hear of it. */
  readonly #publish = (changes: readonly Change[]): void => {
    if (changes.length === 0) return;
    const news = this.#state.publish(changes, this.#watches.hub.size > 0);
    this.#head.published(changes);
    this.#quota.wrote(changes.reduce((bytes, { record }) => bytes + record.length, 0));
    if (news.length > 0) this.#watches.hub.publish(this.#state.revision, news);
  };

  #startChores(options: EmbeddedStoreOptions, clock: Clock): Promise<void>[] {
    const { signal } = this.#stop;
    const diskClock = options.clock ?? hardwareClock;
    const target = {
      revision: () => this.#state.revision,
      compactRevision: () => this.#compactor.revision,
      compact: (revision: Revision) => this.compact(revision, { signal }).catch(unlessFull),
    };
    return [
      runAutoCompaction(options.autoCompaction ?? defaultAutoCompaction, target, clock, signal),
      this.#lessor.run(clock, signal),
      ...this.#upkeep.run(diskClock, signal),
      every(options.progressIntervalMs ?? 10_000, diskClock, signal, async () => this.#watches.sendProgress()),
    ].map((chore) => untilStopped(chore, signal));
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
  }

  /** Reads answer without a turn of the loop: a caller that does nothing else would keep all others from theirs. */
  async #letOthersRun(signal: AbortSignal | undefined): Promise<void> {
    this.#readsInARow = 0;
    await nextTurn();
    this.#mustBeOpen(signal);
  }

  /** Asked for only where it is needed: a read that need not wait answers in the same turn. */
  async #untilReadable(signal: AbortSignal | undefined): Promise<void> {
    while (this.#gate.pause !== undefined) await this.#gate.pause;
    this.#mustBeOpen(signal);
  }

  #mustBeOpen(signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    if (this.#closed) throw this.#closed;
  }

  #end(error: StoreError): void {
    if (this.#closed) return;
    this.#closed = error;
    this.#stop.abort(error);
    this.#watches.endAll(error);
    this.#compactor.fail(error);
  }
}
