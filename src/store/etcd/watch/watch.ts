/**
 * One watch on an etcd cluster: one stream of its own, and another one in its place whenever it breaks.
 *
 * Always true: whatever ends a stream (a member stopped, killed, frozen or without a leader, the connection lost), the
 * watch goes on from its first undelivered revision on any member, for as long as it takes. What is delivered follows
 * WatchAssembler; what waits for the reader is bounded by `bufferBytes`, the window of the stream and one response,
 * since a full queue stops the reading and flow control stops etcd, for this watch alone. Progress that is delivered
 * is true on every version of etcd (see progress.ts), and never below an event delivered before. `requestProgress` is
 * answered with a revision at or above the store's at the time of the request.
 *
 * One thing is etcd's to keep: before 3.4.34 and 3.5.16 a compaction forgets the deletes of its very revision, so a
 * watch that starts or resumes exactly there misses them.
 *
 * It ends with Compacted when etcd no longer has the revision to go on from, after what was queued before; with the
 * signal's reason or Closed at once; with InvalidArgument or Unavailable when etcd refuses the watch for good.
 */
import { StoreError } from '../../errors.ts';
import type { KeyRange, Revision, Watch, WatchBatch, WatchOptions } from '../../kv.ts';
import { backoffMs } from '../grpc/backoff.ts';
import { Call } from '../grpc/call.ts';
import type { Channel } from '../grpc/channel.ts';
import type { Connection } from '../grpc/connection.ts';
import { type GrpcError, grpcCode } from '../grpc/grpc-status.ts';
import { toStoreError } from '../grpc/grpc-to-store-error.ts';
import { onAbort } from '../grpc/on-abort.ts';
import { wireRange } from '../messages/messages.ts';
import {
  decodeWatchResponse,
  encodeWatchCreate,
  type WatchResponse,
  watchProgressRequest,
} from '../messages/messages-watch.ts';
import { BatchQueue } from './batch-queue.ts';
import { answersProgressTruly } from './progress.ts';
import { WatchAssembler } from './watch-assembler.ts';

export type WatchSource = {
  readonly channel: Channel;
  readonly bufferBytes: number;
  /** The store's revision, linearizable. */
  readonly revision: (signal: AbortSignal) => Promise<Revision>;
  /** Rejects with Compacted if this revision is gone. */
  readonly checkReadable: (revision: Revision, signal: AbortSignal) => Promise<void>;
  readonly versionOf: (connection: Connection) => Promise<string>;
  /** Called once, when the watch is over. */
  readonly onEnd: (watch: EtcdWatch) => void;
};

const method = '/etcdserverpb.Watch/Watch';
const retryCeilingMs = 1000;
/** No other stream and no other member would answer differently. */
const finalCodes: ReadonlySet<number> = new Set([
  ...[grpcCode.invalidArgument, grpcCode.permissionDenied, grpcCode.unimplemented, grpcCode.unauthenticated],
]);

export class EtcdWatch implements Watch {
  answersProgress?: boolean;
  readonly #source: WatchSource;
  readonly #range: KeyRange;
  readonly #options: WatchOptions;
  readonly #what: string;
  readonly #assembler: WatchAssembler;
  readonly #queue: BatchQueue;
  readonly #stop = new AbortController();
  readonly #unlisten: () => void;
  readonly #started: Promise<Revision>;
  #tellStarted!: (revision: Revision) => void;
  #failStarted!: (err: unknown) => void;
  #live: { call: Call; connection: Connection; isCreated: boolean } | undefined;
  #wakeDrained: () => void = () => {};
  /** What a progress batch must reach to answer those who asked. */
  #progressTarget: Revision | undefined;
  #asking: 'no' | 'yes' | 'again' = 'no';

  constructor(range: KeyRange, options: WatchOptions, source: WatchSource) {
    this.#source = source;
    this.#range = range;
    this.#options = options;
    this.#what = `watch ${JSON.stringify(wireRange(range).key)}`;
    this.#assembler = new WatchAssembler(options.fromRevision === undefined ? 0 : Math.max(1, options.fromRevision));
    this.#queue = new BatchQueue(source.bufferBytes, () => this.#onDrained());
    this.#started = new Promise((resolve, reject) => {
      this.#tellStarted = resolve;
      this.#failStarted = reject;
    });
    this.#started.catch(() => {}); // whoever asks is told; nobody has to ask
    this.#unlisten = onAbort(options.signal, () => this.#cut(options.signal?.reason));
    if (options.signal?.aborted) this.#cut(options.signal.reason);
    else void this.#run();
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  /** What waits for the reader; for tests and metrics. */
  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  /** Resolves when etcd has confirmed the watch, or it is over. */
  get begun(): Promise<void> {
    return this.#started.then(
      () => {},
      () => {},
    );
  }

  async started(): Promise<Revision> {
    const revision = await this.#started;
    const from = this.#options.fromRevision;
    if (from === undefined) return revision;
    // etcd accepts a watch of the past before it looks whether that past is still there.
    if (from > 0 && from <= revision) await this.#source.checkReadable(from, this.#stop.signal);
    return from - 1;
  }

  requestProgress(): void {
    if (this.#asking === 'no') void this.#askProgress();
    else this.#asking = 'again';
  }

  next(): Promise<IteratorResult<WatchBatch>> {
    return this.#queue.next();
  }

  async return(): Promise<IteratorResult<WatchBatch>> {
    this.#cut(undefined);
    return { value: undefined, done: true };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): Watch {
    return this;
  }

  /** Ends it for the store that closes. */
  close(error: StoreError): void {
    this.#cut(error);
  }

  /** One stream after another until the watch is over. */
  async #run(): Promise<void> {
    const { channel } = this.#source;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; ) {
      try {
        while (this.#queue.isFull) await this.#drained();
        const connection = await channel.connect(signal);
        const { error, wasCreated } = await this.#follow(connection);
        if (signal.aborted) return;
        if (error && finalCodes.has(error.code)) return this.#fail(this.#storeError(error));
        if (error) channel.avoid(error);
        failures = wasCreated ? 0 : failures + 1;
      } catch (err) {
        if (signal.aborted) return;
        if (!isGrpcError(err)) return this.#fail(err);
        failures++;
      }
      await channel.sleep(backoffMs(failures, retryCeilingMs), signal).catch((err: unknown) => this.#fail(err));
    }
  }

  /** Reads one stream to its end. */
  #follow(connection: Connection): Promise<{ error: GrpcError | undefined; wasCreated: boolean }> {
    this.#assembler.restart();
    return new Promise((resolve) => {
      const done = (error: GrpcError | undefined) => {
        this.#live = undefined;
        unlisten();
        resolve({ error, wasCreated: live.isCreated });
      };
      const stop = () => {
        live.call.cancel();
        done(undefined);
      };
      const onMessage = (message: Buffer) => {
        try {
          if (this.#accept(decodeWatchResponse(message), message.length) === 'stream is over') stop();
        } catch (err) {
          this.#fail(toStoreError(err, { what: this.#what, isRead: true }));
        }
      };
      const call = new Call(connection, method, { needsLeader: true }, { onMessage, onEnd: done });
      const live = { call, connection, isCreated: false };
      this.#live = live;
      const unlisten = onAbort(this.#stop.signal, stop);
      const startRevision = this.#assembler.nextRevision;
      call.send(encodeWatchCreate({ range: this.#range, startRevision, prevKv: this.#options.prevKv ?? false }));
    });
  }

  #accept(response: WatchResponse, bytes: number): 'stream is over' | undefined {
    if (response.canceled) return this.#onCanceled(response);
    const batch = this.#assembler.accept(response);
    if (response.created && this.#live) {
      this.#live.isCreated = true;
      this.#tellStarted(response.revision);
      if (this.#progressTarget !== undefined) this.requestProgress();
    }
    if (!batch) return undefined;
    const isAnswer = this.#progressTarget !== undefined && batch.revision >= this.#progressTarget;
    if (isAnswer) this.#progressTarget = undefined;
    if (batch.events.length > 0 || isAnswer || this.#options.progress) this.#queue.push(batch, bytes);
    if (this.#queue.isFull) this.#live?.call.pause();
    return undefined;
  }

  #onCanceled({ created, compactRevision, cancelReason }: WatchResponse): 'stream is over' {
    if (compactRevision > 0 || cancelReason.includes('has been compacted')) {
      const from = this.#assembler.nextRevision;
      const until = compactRevision > 0 ? `, the oldest left is ${compactRevision}` : '';
      this.#fail(
        new StoreError('Compacted', `Cannot ${this.#what} from revision ${from}: it has been compacted${until}`, {
          ...(compactRevision > 0 ? { compactRevision } : {}),
        }),
      );
    } else if (created) this.#fail(new StoreError('InvalidArgument', `Cannot ${this.#what}: ${cancelReason}`));
    return 'stream is over';
  }

  async #askProgress(): Promise<void> {
    const { revision, versionOf } = this.#source;
    do {
      this.#asking = 'yes';
      try {
        const now = await revision(this.#stop.signal);
        this.#progressTarget = Math.max(this.#progressTarget ?? 0, now);
        const live = this.#live;
        if (!live?.isCreated) continue;
        this.answersProgress = answersProgressTruly(await versionOf(live.connection));
        if (this.answersProgress) live.call.send(watchProgressRequest);
      } catch {
        // Best effort, as promised: whoever needs it asks again.
      }
    } while ((this.#asking as string) === 'again' && !this.#stop.signal.aborted);
    this.#asking = 'no';
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeDrained = resolve;
    });
  }

  #onDrained(): void {
    this.#live?.call.resume();
    this.#wakeDrained();
  }

  #storeError(err: GrpcError): unknown {
    return toStoreError(err, { what: this.#what, isRead: true });
  }

  /** Over, once the reader has had what came before. */
  #fail(err: unknown): void {
    this.#queue.finish(err);
    this.#over(err);
  }

  /** Over, at once. */
  #cut(err: unknown): void {
    this.#queue.cut(err);
    this.#over(err ?? new StoreError('Closed', `Cannot ${this.#what}: its reader has left`));
  }

  #over(err: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(err);
    this.#failStarted(err);
    this.#unlisten();
    this.#wakeDrained();
    this.#source.onEnd(this);
  }
}

function isGrpcError(err: unknown): err is GrpcError {
  return err instanceof Error && err.name === 'GrpcError';
}
