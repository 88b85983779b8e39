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
import { isStoreError, StoreError } from '../errors.ts';
import { boundsOf, checkKey, checkNotNegative } from '../keys.ts';
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
import { Compactor } from './compactor.ts';
import { RESERVE_BYTES, ReserveFile } from './disk/reserve-file.ts';
import type { SealFile } from './disk/seal-file.ts';
import type { LogEngine } from './engine/engine.ts';
import { EngineGate } from './engine/engine-gate.ts';
import { PageRelease } from './engine/page-release.ts';
import { SealedEngine } from './engine/sealed-engine.ts';
import { type OpenData, openData, reservePathIn } from './open-data.ts';
import { PublishedState } from './published-state.ts';
import { Quota } from './quota.ts';
import { writeSnapshot } from './snapshot/snapshot-file.ts';
import { type Change, Head } from './state/head.ts';
import { type Leases, MIN_TTL_SECONDS } from './state/leases.ts';
import { FORMAT, moveKeysToLeases, recoverLeases } from './state/recovery.ts';
import { checkTxn, defaultTxnLimits, runTxn, type TxnContext, type TxnLimits, tombstone } from './state/transaction.ts';
import { WatchHub } from './watch/watch-hub.ts';
import { Watcher, type WatchLimits, type WatchSource } from './watch/watcher.ts';
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
const SCAN_STEP_KEYS = 1000;
const READS_IN_A_ROW = 500;
const LEASE_TICK_MS = 500;
const LONGEST_LEASE_TICK_MS = MIN_TTL_SECONDS * 1000;
const LEASES_PER_TICK = 500;
const DISK_TICK_MS = 500;
/** A store that lives shorter makes no reserve. */
const RESERVE_TICK_MS = 10_000;
/** Puts are refused while the disk has less than this. */
const FREE_BYTES = 64 * 1024 * 1024;

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { dataDir, durability = 'fsync', openEngine } = options;
  return new EmbeddedStore(await openData({ dataDir, isDurable: durability === 'fsync', openEngine }), options);
}

class EmbeddedStore implements Store, WatchSource {
  readonly hub = new WatchHub();
  readonly history: StoreHistory;
  readonly maxPutBytes: number;
  readonly limits: WatchLimits;
  readonly #engine: LogEngine;
  readonly #state: PublishedState;
  readonly #head: Head;
  readonly #leases: Leases;
  readonly #quota: Quota;
  readonly #compactor: Compactor;
  readonly #pipeline: WritePipeline;
  readonly #gate: EngineGate;
  readonly #sealed: SealedEngine;
  readonly #sealFile: SealFile;
  readonly #reserve: ReserveFile | undefined;
  readonly #pages: PageRelease;
  readonly #txnLimits: TxnLimits;
  readonly #txnContext: TxnContext;
  readonly #watchers = new Set<Watcher>();
  readonly #stop = new AbortController();
  readonly #chores: Promise<void>[];
  #readsInARow = 0;
  /** Does nothing; while a reader waits for a change it keeps the process from ending under it. */
  readonly #holder = setInterval(() => {}, 2 ** 30).unref();
  #waitingReaders = 0;
  #closed: StoreError | undefined;
  #sealProblem: string | undefined;
  readonly close: () => Promise<void>;

  constructor({ engine, recovered, sealFile, history, unlock }: OpenData, options: EmbeddedStoreOptions) {
    this.history = history;
    const clock = options.clock ?? backgroundClock;
    const { index, garbage, revision, compactScheduled, compactFinished } = recovered;
    this.limits = options.watchLimits ?? { events: 10_000, bytes: 8 * 1024 * 1024 };
    this.#engine = engine;
    this.#sealFile = sealFile;
    this.#reserve = options.durability === 'none' ? undefined : new ReserveFile(reservePathIn(options.dataDir));
    this.#gate = new EngineGate(engine);
    const reopen = () => this.#gate.reopen();
    this.#sealed = new SealedEngine({ engine, ...recovered, reopen, makeRoom: this.#makeRoom });
    this.#compactor = new Compactor(compactScheduled, compactFinished, index, garbage);
    this.#state = new PublishedState(engine, recovered, this.#compactor);
    this.#head = new Head(revision, index, this.#state.read);
    this.#leases = recoverLeases(recovered, clock);
    const limits = { quotaBytes: options.quotaBytes ?? 2 * GIB, reserveBytes: FREE_BYTES };
    this.#quota = new Quota(engine, options.dataDir, limits, () => this.#pipeline?.pendingBytes ?? 0);
    this.#txnLimits = options.txnLimits ?? defaultTxnLimits;
    this.maxPutBytes = this.#txnLimits.maxRequestBytes;
    this.#txnContext = { head: this.#head, leases: this.#leases, readRange: this.#state.readRange };
    const onFailure = (error: StoreError) => {
      if (this.#closed) return;
      this.#end(error);
      options.onFailure?.(error);
    };
    this.#pipeline = new WritePipeline({
      engine: this.#sealed,
      publish: this.#publish,
      compaction: this.#compactor,
      maxPendingBytes: 256 * 1024 * 1024,
      onFailure,
      onRefusal: () => {
        this.#head.reset(this.#state.revision);
        this.#compactor.forgetAdmitted();
        if (this.#leases.size === 0 && this.#sealed.leases.size === 0) return;
        this.#leases.reset(this.#sealed.leases);
        moveKeysToLeases(this.#leases, index);
      },
    });
    this.#pages = new PageRelease({
      engine,
      reopen,
      alone: (work) => this.#pipeline.alone(work),
      isInUse: () => this.#compactor.isPinned,
    });
    this.#pipeline.wake(); // a compaction that was interrupted goes on
    this.#chores = this.#startChores(options, clock, onFailure);
    this.close = closeOnce(async () => {
      const pending = this.#pipeline.settled();
      this.#end(new StoreError('Closed', 'Cannot use the store: it is closed'));
      await pending?.catch(() => {}); // what was accepted before still reaches the disk
      this.#pipeline.fail(this.#closed!);
      this.#compactor.fail(this.#closed);
      this.#reserve?.close();
      await Promise.all(this.#chores);
      await this.#pipeline.idle();
      clearInterval(this.#holder);
      await engine.close();
      await this.#rememberSeal();
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

  async grantLease(ttlSeconds: number, { id: asked, signal }: { id?: LeaseId } & CallOptions = {}): Promise<Lease> {
    this.#mustBeOpen(signal);
    if (this.#gate.pause !== undefined) await this.#untilReadable(signal);
    this.#pipeline.checkRoom();
    this.#quota.checkBytes(64);
    const ttl = this.#leases.ttlFor(ttlSeconds);
    const id = this.#leases.idFor(asked);
    this.#leases.add(id, ttl);
    await untilAborted(this.#pipeline.add({ lease: [id, ttl] }), signal);
    return { id, ttlSeconds: ttl };
  }

  async keepLeaseAlive(id: LeaseId, { signal }: CallOptions = {}): Promise<number> {
    this.#mustBeOpen(signal);
    return this.#leases.keepAlive(id);
  }

  async revokeLease(id: LeaseId, { signal }: CallOptions = {}): Promise<void> {
    this.#mustBeOpen(signal);
    await untilAborted(this.#revoke(id), signal);
  }

  async leaseInfo(
    id: LeaseId,
    { keys = true, signal }: { keys?: boolean } & CallOptions = {},
  ): Promise<LeaseInfo | undefined> {
    this.#mustBeOpen(signal);
    const lease = this.#leases.get(id);
    const info = lease && {
      id,
      grantedTtlSeconds: lease.ttlSeconds,
      remainingSeconds: this.#leases.remainingSeconds(lease),
      keys: keys ? [...lease.keys].sort() : [],
    };
    await untilAborted(this.#pipeline.settled() ?? Promise.resolve(), signal);
    return info;
  }

  async leases({ signal }: CallOptions = {}): Promise<readonly LeaseId[]> {
    this.#mustBeOpen(signal);
    const ids = this.#leases.ids();
    await untilAborted(this.#pipeline.settled() ?? Promise.resolve(), signal);
    return ids;
  }

  // ---- watches

  watch(range: KeyRange, options: WatchOptions = {}): Watch {
    this.#mustBeOpen(undefined);
    boundsOf(range);
    checkNotNegative('revision', options.fromRevision ?? 0);
    const watcher = new Watcher(range, options, this);
    this.#watchers.add(watcher);
    watcher.start();
    return watcher;
  }

  published(): Revision {
    return this.#state.revision;
  }

  compacted(): Revision {
    return this.#compactor.revision;
  }

  pause(): Promise<void> | undefined {
    return this.#gate.pause;
  }

  readLog(range: KeyRange, from: Revision, wantsPrevKv: boolean): ReturnType<WatchSource['readLog']> {
    return this.#state.readLog(range, from, wantsPrevKv);
  }

  left(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  hold(): void {
    if (this.#waitingReaders++ === 0) this.#holder.ref();
  }

  release(): void {
    if (--this.#waitingReaders === 0) this.#holder.unref();
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
      problems: [this.#quota.problem(), this.#sealProblem].filter((problem) => problem !== undefined),
      watchers: this.#watchers.size,
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
    const news = this.#state.publish(changes, this.hub.size > 0);
    this.#head.published(changes);
    this.#quota.wrote(changes.reduce((bytes, { record }) => bytes + record.length, 0));
    if (news.length > 0) this.hub.publish(this.#state.revision, news);
  };

  /** Others have filled the disk. Once there is a reserve to give back, and then none. */
  readonly #makeRoom = (): boolean => {
    const hasMore = this.#reserve?.giveBack() ?? false;
    this.#quota.refused();
    return hasMore;
  };

  async #rememberSeal(): Promise<void> {
    try {
      await this.#sealFile.remember(this.#sealed.seal);
      this.#sealProblem = undefined;
    } catch (err) {
      this.#sealProblem = `The file SEAL cannot be written: ${(err as Error).message}`;
    }
  }

  async #revoke(id: LeaseId): Promise<void> {
    const { keys } = this.#leases.mustHave(id);
    const changes = [...keys].sort().map((key, sub) => this.#head.change(key, tombstone(this.#head.revision + 1, sub)));
    if (changes.length > 0) this.#head.revision++;
    this.#leases.remove(id);
    await this.#pipeline.add({ changes, lease: [id, undefined] });
  }

  #startChores(options: EmbeddedStoreOptions, clock: Clock, fail: (error: StoreError) => void): Promise<void>[] {
    const { signal } = this.#stop;
    const diskClock = options.clock ?? hardwareClock;
    const untilStopped = (chore: Promise<void>) =>
      chore.catch((err: unknown) => {
        if (!signal.aborted) throw err;
      });
    const autoCompaction = options.autoCompaction ?? { mode: 'periodic', retentionMs: 5 * 60_000 };
    const target = {
      revision: () => this.#state.revision,
      compactRevision: () => this.#compactor.revision,
      compact: (revision: Revision) => this.compact(revision, { signal }).catch(unlessFull),
    };
    return [
      untilStopped(runAutoCompaction(autoCompaction, target, clock, signal)),
      untilStopped(
        (async () => {
          for (;;) {
            await untilAborted(this.#leases.whenAny(), signal);
            // One that is granted meanwhile lives longer than the longest pause.
            const pauseMs = Math.min(Math.max(this.#leases.msToNextEnd(), LEASE_TICK_MS), LONGEST_LEASE_TICK_MS);
            await clock.sleep(pauseMs, signal);
            const revoked = this.#leases.expired(LEASES_PER_TICK).map((id) => this.#revoke(id).catch(unlessFull));
            await Promise.all(revoked);
          }
        })(),
      ),
      untilStopped(every(DISK_TICK_MS, diskClock, signal, () => this.#lookAfterFile(fail))),
      untilStopped(every(DISK_TICK_MS, diskClock, signal, () => this.#rememberSeal())),
      untilStopped(every(RESERVE_TICK_MS, diskClock, signal, () => this.#makeReserve())),
      untilStopped(
        every(options.progressIntervalMs ?? 10_000, diskClock, signal, async () => {
          for (const watcher of this.#watchers) if (watcher.wantsProgress) watcher.requestProgress();
        }),
      ),
    ];
  }

  async #lookAfterFile(fail: (error: StoreError) => void): Promise<void> {
    if (this.#engine.isInPlace?.() === false) {
      const error = new StoreError('Closed', 'Cannot go on: the data file was removed or replaced under the store');
      this.#pipeline.fail(error);
      fail(error);
      return;
    }
    this.#pipeline.wake(); // what a full disk refused to remove
    await this.#pages.tick();
  }

  async #makeReserve(): Promise<void> {
    if (!this.#reserve || this.#reserve.isHeld) return;
    this.#quota.refresh();
    if (this.#quota.freeBytes > FREE_BYTES + 2 * RESERVE_BYTES) await this.#reserve.make();
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
    for (const watcher of [...this.#watchers]) watcher.end(error);
    this.#compactor.fail(error);
  }
}

async function every(ms: number, clock: Clock, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  for (;;) {
    await clock.sleep(ms, signal);
    await work();
  }
}

/** There will be another time. */
function unlessFull(err: unknown): void {
  if (!isStoreError(err, 'NoSpace')) throw err;
}
