/**
 * An informer's store on disk, and its versions with it: what a process that starts again goes on from.
 *
 * What is always true: the file is the store as it was at some earlier moment, together with the versions of that very
 * moment, so that a watch from there tells all that happened since, deletions included. A moment is written only when
 * every handler is done with all that led to it: what a handler was not through with when the process died is delivered
 * again. So are deletions that a handler was not through with when it was removed, if the informer closes within five
 * minutes of that (`Listeners`): then it was removed because of the closing. For so long, no moment after such a
 * deletion is written.
 *
 * Changes gather by key, so they take no more room than the store, however slow the disk is; the informer never waits
 * for it. A disk that fails is reported once, and tried again with growing pauses; the informer goes on. Only a file
 * that another process has is an error of `open`.
 */
import { type Clock, untilAborted } from '../../api/index.ts';
import { type FileLock, lockFile } from '../../files/file-lock.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { CheckpointMetrics } from '../observing/informer-metrics.ts';
import { CheckpointError } from './checkpoint-error.ts';
import { CheckpointFile, type Disk } from './checkpoint-file.ts';
import type { CheckpointHeader, Commit, SavedState } from './checkpoint-format.ts';
import { differenceOf, pathOf } from './checkpoint-header.ts';
import type { CheckpointOptions } from './checkpoint-options.ts';

type CheckpointContext<T extends AnyObject> = {
  readonly clock: Clock;
  readonly header: CheckpointHeader;
  readonly clusterId: () => Promise<string>;
  /** The store and its versions as they are now; neither changes while the caller does not wait. */
  readonly snapshot: () => ReadonlyMap<string, T>;
  readonly commit: () => Commit;
  /** Captures what handlers have still to do; the promise resolves when they have done it. */
  readonly handled: (signal: AbortSignal) => Promise<void>;
  readonly report: (error: CheckpointError) => void;
  readonly disk?: Disk;
};

const FLUSH_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** So many of them may be more than the store. */
const MANY_CHANGES = 10_000;
/** How often the lock is touched. */
const TOUCH_MS = 10_000;

export class Checkpoint<T extends AnyObject> {
  readonly #options: CheckpointOptions;
  readonly #context: CheckpointContext<T>;
  /** Since the last commit that is written, or being written; undefined is gone. */
  #changes = new Map<string, T | undefined>();
  /** The next commit is the whole store, and changes need not be known. */
  #isWhole = false;
  #file: CheckpointFile | undefined;
  #lock: FileLock | undefined;
  /** Of the file that was found. */
  #cluster: string | undefined;
  /** Of the server. */
  #known: string | undefined;
  #lastVersions = '{}';
  /** Of another cluster, by scope. */
  #foreign: Commit['versions'] = {};
  #failuresInARow = 0;
  readonly #counts = { restored: 0, commits: 0, rewrites: 0, failures: 0 };
  #savedAt: Date | undefined;
  /** Those who want what there is now on the disk. */
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  constructor(options: CheckpointOptions, context: CheckpointContext<T>) {
    this.#options = options;
    this.#context = context;
  }

  get metrics(): CheckpointMetrics {
    return { ...this.#counts, bytes: this.#file?.bytes ?? 0, savedAt: this.#savedAt };
  }

  /** What the last process left, if it can be used; what cannot is set aside. Throws `Locked`. */
  async open(signal?: AbortSignal): Promise<SavedState<T> | undefined> {
    const { header, disk } = this.#context;
    const isDurable = this.#options.isDurable ?? false;
    try {
      const path = await pathOf(this.#options.file, header);
      const file = new CheckpointFile(path, { isDurable, ...(disk && { disk }) });
      await file.prepare();
      this.#lock = await lockCheckpoint(path);
      this.#file = file;
      void this.#clusterId(signal);
      const saved = await this.#read(file, signal);
      if (!saved) return undefined;
      await file.goOn(saved);
      this.#cluster = saved.header.cluster;
      this.#counts.restored = saved.objects.size;
      this.#lastVersions = JSON.stringify(saved.versions);
      return saved;
    } catch (error) {
      if (error instanceof CheckpointError && error.code === 'Locked') throw error;
      if (!signal?.aborted) this.#fail('open', error);
      return undefined;
    }
  }

  /** Whether the file comes from the cluster we speak to; yes where nobody can tell. */
  async isOfThisCluster(signal?: AbortSignal): Promise<boolean> {
    const is = await this.#clusterId(signal);
    if (is === undefined || this.#cluster === undefined || is === this.#cluster) return true;
    this.#cluster = undefined;
    this.#foreign = JSON.parse(this.#lastVersions) as Commit['versions'];
    await this.#file?.close().catch((error: unknown) => this.#fail('close', error)); // its header names the other
    return false;
  }

  note(key: string, object: T | undefined): void {
    if (!this.#file || this.#isWhole) return;
    this.#changes.set(key, object);
    if (this.#changes.size % MANY_CHANGES === 0 && this.#changes.size > 2 * this.#context.snapshot().size) {
      this.#isWhole = true; // most of them are of what came and went
      this.#changes.clear();
    }
  }

  /** So much has changed that the next commit is the whole store. */
  noteAll(): void {
    if (!this.#file) return;
    this.#isWhole = true;
    this.#changes.clear();
  }

  /** After `open`: resolves when the state of this moment is written, through all failures of the disk. */
  saved(): Promise<void> {
    if (!this.#file) return Promise.reject(this.#neverSaved('it could not be opened, or was closed'));
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Writes what gathers, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#write(signal), this.#holdLock(signal)]);
  }

  /** After `run` has ended and the watches have stopped: writes the last state, if handlers are through with it. */
  async close(isHandled: boolean): Promise<void> {
    if (isHandled) await this.#flush();
    for (const { reject } of this.#waiting.splice(0)) reject(this.#neverSaved('it was closed before that'));
    await this.#file?.close().catch((error: unknown) => this.#fail('close', error));
    await this.#lock?.release().catch((error: unknown) => this.#fail('release', error));
    this.#file = undefined;
  }

  async #read(file: CheckpointFile, signal?: AbortSignal): Promise<SavedState<T> | undefined> {
    const { header } = this.#context;
    let why: string;
    try {
      const saved = await file.read<T>();
      if (!saved) return undefined;
      const difference = differenceOf(saved.header, header) ?? (await this.#differenceOfServer(saved.header, signal));
      if (difference === undefined) return saved;
      why = difference;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
      why = (error as Error).message;
    }
    signal?.throwIfAborted(); // whoever was asked about the cluster had no time to answer
    const aside = await file.setAside();
    const message = `Cannot use checkpoint ${JSON.stringify(file.path)}: ${why}; it is now ${JSON.stringify(aside)}`;
    this.#context.report(new CheckpointError('Unusable', message));
    return undefined;
  }

  /** Another address may still be the same cluster; then it must be known to be. */
  async #differenceOfServer({ server, cluster }: CheckpointHeader, signal?: AbortSignal): Promise<string | undefined> {
    if (server === this.#context.header.server) return undefined;
    if (cluster !== undefined && cluster === (await this.#clusterId(signal))) return undefined;
    return `its server is ${JSON.stringify(server)}, and not ${JSON.stringify(this.#context.header.server)}`;
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const { flushMs = FLUSH_MS } = this.#options;
    while (this.#file && !signal.aborted) {
      const pauseMs = Math.min(flushMs * 2 ** this.#failuresInARow, Math.max(flushMs, MAX_PAUSE_MS));
      await clock.sleep(pauseMs, signal).catch(() => {}); // the loop ends
      if (signal.aborted) return;
      await this.#flush(signal);
    }
  }

  async #flush(signal?: AbortSignal): Promise<void> {
    const waiting = this.#waiting.splice(0); // those who come while we write want the next batch
    if (await this.#save(signal)) for (const { resolve } of waiting) resolve();
    else this.#waiting.unshift(...waiting);
  }

  /** True if the state of the moment it was called is on the disk. */
  async #save(signal?: AbortSignal): Promise<boolean> {
    const { snapshot, commit: now, handled } = this.#context;
    const file = this.#file;
    const commit = now();
    const versions = JSON.stringify(commit.versions);
    if (!file || versions === '{}') return false;
    // Part of the store is still that of the other cluster.
    if (Object.entries(this.#foreign).some(([scope, version]) => commit.versions[scope] === version)) return false;
    this.#foreign = {};
    if (this.#changes.size === 0 && !this.#isWhole && versions === this.#lastVersions) return true;
    // All of one moment: what comes while we write belongs to the next batch.
    const changes = this.#changes;
    this.#changes = new Map();
    const isWhole = this.#isWhole || file.wantsRewrite;
    this.#isWhole = false;
    const objects = isWhole ? snapshot() : undefined;
    try {
      if (signal) await handled(signal);
      if (objects) await file.rewrite(this.#fullHeader(), objects.values(), commit);
      else await file.append(changes, commit);
    } catch (error) {
      // Newer changes of the same keys have come meanwhile: they count.
      this.#changes = isWhole ? new Map() : new Map([...changes, ...this.#changes]);
      this.#isWhole ||= isWhole;
      if (!signal?.aborted) this.#fail('write', error);
      return false;
    }
    this.#lastVersions = versions;
    this.#failuresInARow = 0;
    this.#counts.commits++;
    if (isWhole) this.#counts.rewrites++;
    this.#savedAt = new Date();
    return true;
  }

  /** With the cluster if it is known by now: no write waits for a request. */
  #fullHeader(): CheckpointHeader {
    const cluster = this.#known ?? this.#cluster;
    return { ...this.#context.header, ...(cluster !== undefined && { cluster }) };
  }

  async #clusterId(signal?: AbortSignal): Promise<string | undefined> {
    const { clusterId } = this.#options;
    const asked = async () => untilAborted(this.#context.clusterId(), signal);
    this.#known = clusterId ?? (await asked().catch(() => this.#known)); // the watch will tell why
    return this.#known;
  }

  /**
   * On its own: a batch may have to wait for a handler, or for a disk, longer than a lock lives that nobody touches.
   */
  async #holdLock(signal: AbortSignal): Promise<void> {
    while (this.#lock && !signal.aborted) {
      await this.#lock.touch().catch(() => {}); // a disk that fails is reported by the next batch
      await this.#context.clock.sleep(TOUCH_MS, signal).catch(() => {}); // the loop ends
    }
  }

  #neverSaved(why: string): CheckpointError {
    const path = JSON.stringify(this.#file?.path ?? this.#options.file);
    return new CheckpointError('Disk', `Cannot save to checkpoint ${path}: ${why}`);
  }

  #fail(what: string, cause: unknown): void {
    this.#counts.failures++;
    if (this.#failuresInARow++ > 0) return; // reported already
    const path = JSON.stringify(this.#file?.path ?? this.#options.file);
    const message = `Cannot ${what} checkpoint ${path}: ${(cause as Error).message}`;
    this.#context.report(new CheckpointError('Disk', message, { cause }));
  }
}

/** A volume may come to a pod of another host while the one before still writes. */
function lockCheckpoint(path: string): Promise<FileLock> {
  const refuse = (why: string) =>
    new CheckpointError('Locked', `Cannot use checkpoint ${JSON.stringify(path)}: ${why}`);
  return lockFile(`${path}.lock`, { refuse, hasManyHosts: true });
}
