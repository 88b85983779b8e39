/**
 * etcd's Watch service: one stream, many watches, each of them a watch of the store.
 *
 * Always true on one stream: nothing of a watch comes before its `created`; a revision is in one response, or in
 * fragments that follow each other. A slow client slows its own stream alone: the store's watches then continue from the
 * log. The answer to a progress request (id -1) is sent once every watch of the stream has been brought, with all its
 * events, to a revision that is not older than the request; while one of them cannot, none is sent, and the client asks
 * again.
 */
import { Reader } from '../../api/protobuf.ts';
import { isStoreError } from '../errors.ts';
import { asBuffer, readKey } from '../key-value-record.ts';
import type { Revision, Store, Watch, WatchEvent } from '../kv.ts';
import { COMPACTED, toFrontError } from './front-error.ts';
import { rangeOf, type WireRange, within } from './front-requests.ts';
import { encodeWatchAnswer, sizeOfEvent, type WatchAnswer } from './front-responses.ts';
import type { GrpcStream } from './grpc-stream.ts';

/** A response that grows beyond is cut, if the client can put the pieces together. */
const FRAGMENT_BYTES = 1024 * 1024;

type Create = {
  readonly range: WireRange;
  readonly startRevision: Revision;
  readonly wantsProgress: boolean;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly prevKv: boolean;
  readonly watchId: number;
  readonly fragment: boolean;
};

type Request =
  | ({ readonly kind: 'create' } & Create)
  | { readonly kind: 'cancel'; readonly watchId: number }
  | { readonly kind: 'progress' };

export async function serveWatches(store: Store, stream: GrpcStream): Promise<void> {
  const session = new WatchSession(store, stream);
  stream.signal.addEventListener('abort', () => void session.close(), { once: true });
  try {
    for await (const message of stream.messages()) await session.take(decode(message));
    await session.ended();
  } finally {
    await session.close();
  }
}

type Running = { readonly watch: Watch; readonly run: Promise<void>; told: Revision };

class WatchSession {
  readonly #store: Store;
  readonly #stream: GrpcStream;
  readonly #running = new Map<number, Running>();
  #nextId = 0;
  /** What the oldest progress request waits for. */
  #wanted: Revision | undefined;

  constructor(store: Store, stream: GrpcStream) {
    this.#store = store;
    this.#stream = stream;
  }

  async take(request: Request): Promise<void> {
    if (request.kind === 'create') await this.#create(request);
    else if (request.kind === 'cancel') await this.#cancel(request.watchId);
    else await this.#progress();
  }

  /** Resolves when no watch is left. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ run }) => run));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ watch }) => watch[Symbol.asyncDispose]()));
  }

  async #create(create: Create): Promise<void> {
    const { range, startRevision, watchId } = create;
    if (startRevision < 0) return this.#refuse(COMPACTED);
    if (range === 'none') return this.#refuse('mvcc: watcher range is empty');
    if (watchId !== 0 && this.#running.has(watchId))
      return this.#refuse('mvcc: duplicate watch ID provided on the WatchStream');
    const id = watchId === 0 ? this.#freeId() : watchId;
    const watch = this.#store.watch(range, {
      prevKv: create.prevKv,
      progress: create.wantsProgress,
      ...(startRevision > 0 && { fromRevision: startRevision }),
    });
    const started = await watch.started().catch(() => undefined); // the run below tells why
    const revision = started === undefined || startRevision > 0 ? await this.#store.revision() : started;
    await this.#answer({ revision, watchId: id, created: true });
    // A watch of what is to come has told everything up to where it starts.
    const running: Running = { watch, run: this.#run(id, watch, create), told: startRevision > 0 ? 0 : revision };
    this.#running.set(id, running);
  }

  async #run(id: number, watch: Watch, create: Create): Promise<void> {
    try {
      for await (const { revision, events } of watch) {
        const wanted = events.filter(({ type }) => !(type === 'put' ? create.noPut : create.noDelete));
        if (wanted.length > 0) await this.#tell(id, revision, wanted, create.fragment);
        else if (events.length === 0 && create.wantsProgress) await this.#answer({ revision, watchId: id });
        const running = this.#running.get(id);
        if (running) running.told = revision;
        await this.#answerProgress();
      }
    } catch (err) {
      const revision = await this.#store.revision().catch(() => 0);
      const compactRevision = isStoreError(err, 'Compacted') ? (err.compactRevision ?? 0) : 0;
      const cancelReason = compactRevision > 0 ? '' : toFrontError(err).message;
      await this.#answer({ revision, watchId: id, canceled: true, compactRevision, cancelReason });
    } finally {
      this.#running.delete(id);
    }
  }

  async #tell(id: number, revision: Revision, events: readonly WatchEvent[], mayCut: boolean): Promise<void> {
    const pieces: Uint8Array[] = [];
    let from = 0;
    let bytes = 0;
    for (let i = 0; mayCut && i < events.length; i++) {
      const size = sizeOfEvent(events[i]!);
      if (bytes + size > FRAGMENT_BYTES && i > from) {
        pieces.push(encodeWatchAnswer({ revision, watchId: id, fragment: true, events: events.slice(from, i) }));
        from = i;
        bytes = 0;
      }
      bytes += size;
    }
    pieces.push(encodeWatchAnswer({ revision, watchId: id, events: events.slice(from) }));
    await this.#stream.send(...pieces); // at once, so that nothing comes between them
  }

  async #cancel(id: number): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return;
    await running.watch[Symbol.asyncDispose]();
    await running.run;
    await this.#answer({ revision: await this.#store.revision(), watchId: id, canceled: true });
  }

  async #progress(): Promise<void> {
    this.#wanted ??= await this.#store.revision();
    for (const { watch } of this.#running.values()) watch.requestProgress();
    await this.#answerProgress();
  }

  async #answerProgress(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    const told = [...this.#running.values()].map((one) => one.told);
    const revision = told.length > 0 ? Math.min(...told) : wanted;
    if (revision < wanted) return;
    this.#wanted = undefined;
    await this.#answer({ revision, watchId: -1 });
  }

  async #refuse(cancelReason: string): Promise<void> {
    const revision = await this.#store.revision();
    await this.#answer({ revision, watchId: -1, created: true, canceled: true, cancelReason });
  }

  async #answer(answer: WatchAnswer): Promise<void> {
    await this.#stream.send(encodeWatchAnswer(answer));
  }

  #freeId(): number {
    while (this.#running.has(this.#nextId)) this.#nextId++;
    return this.#nextId++;
  }
}

function decode(bytes: Uint8Array): Request {
  const reader = new Reader(asBuffer(bytes));
  let request: Request = { kind: 'progress' };
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) request = { kind: 'create', ...within(reader, readCreate) };
    else if (tag === 18) request = { kind: 'cancel', watchId: within(reader, readWatchId) };
    else reader.skip(tag);
  }
  return request;
}

function readWatchId(reader: Reader): number {
  let id = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) id = reader.int();
    else reader.skip(tag);
  }
  return id;
}

function readCreate(reader: Reader): Create {
  let key = '';
  let end: string | undefined;
  let startRevision = 0;
  let watchId = 0;
  const flags = { wantsProgress: false, prevKv: false, fragment: false };
  const filters = new Set<number>();
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === 18)
      end = readKey(reader) || undefined; // here, unlike in a Range, nothing in it means none
    else if (tag === 24) startRevision = reader.int();
    else if (tag === 32) flags.wantsProgress = reader.bool();
    else if (tag === 40) filters.add(reader.int());
    else if (tag === 42) for (const filter of within(reader, readPacked)) filters.add(filter);
    else if (tag === 48) flags.prevKv = reader.bool();
    else if (tag === 56) watchId = reader.int();
    else if (tag === 64) flags.fragment = reader.bool();
    else reader.skip(tag);
  }
  const range = rangeOf(key || '\0', end); // without a key it is the lowest, says etcd
  return { range, startRevision, watchId, noPut: filters.has(0), noDelete: filters.has(1), ...flags };
}

function readPacked(reader: Reader): number[] {
  const numbers: number[] = [];
  while (reader.hasMore) numbers.push(reader.int());
  return numbers;
}
