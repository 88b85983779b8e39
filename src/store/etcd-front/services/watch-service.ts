/**
 * etcd's Watch service: one stream, many watches, each of them a watch of the store.
 *
 * Always true on one stream: nothing of a watch comes before its `created`; a revision is in one response, or in
 * fragments that follow each other. A client that reads slowly slows its own stream alone: a watch fetches the next from
 * the store, and writes it down, only when it is its turn to send, so many watches on a stream that nobody reads hold
 * no more than one. The answer to a progress request (id -1) is sent once every watch of the stream has been brought,
 * with all its events, to a revision that is not older than the request; while one of them cannot, and where there is
 * no watch, none is sent, and the client asks again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isStoreError } from '../../errors.ts';
import type { Revision, Store, Watch, WatchEvent } from '../../kv.ts';
import type { GrpcStream } from '../grpc-stream.ts';
import { COMPACTED, toFrontError } from '../messages/front-error.ts';
import { encodeWatchAnswer, encodeWatchEvents, sizeOfEvent, type WatchAnswer } from '../messages/front-responses.ts';
import { decodeWatchRequest, type WatchCreate, type WatchRequest } from './watch-requests.ts';

/** A response that grows beyond is cut, if the client can put the pieces together. */
const FRAGMENT_BYTES = 1024 * 1024;
/** So many events are written down before others get their turn. */
const EVENTS_PER_TURN = 1000;

export async function serveWatches(store: Store, stream: GrpcStream): Promise<void> {
  const session = new WatchSession(store, stream);
  stream.signal.addEventListener('abort', () => void session.close(), { once: true });
  try {
    for await (const message of stream.messages()) await session.take(decodeWatchRequest(message));
    await session.ended();
  } finally {
    await session.close();
  }
}

type Running = { readonly watch: Watch; run: Promise<void>; told: Revision };

class WatchSession {
  readonly #store: Store;
  readonly #stream: GrpcStream;
  readonly #running = new Map<number, Running>();
  #nextId = 0;
  /** All watches have told everything up to here. */
  #toldByAll: Revision = 0;
  /** What the oldest progress request waits for, and the watches that are not there yet. */
  #wanted: { readonly revision: Revision; readonly missing: Set<Running> } | undefined;
  #isAskingAgain = false;
  /** The long batch that is being written down; there is one at a time. */
  #long: Promise<void> = Promise.resolve();

  constructor(store: Store, stream: GrpcStream) {
    this.#store = store;
    this.#stream = stream;
  }

  async take(request: WatchRequest): Promise<void> {
    if (request.kind === 'create') await this.#create(request);
    else if (request.kind === 'cancel') await this.#cancel(request.watchId);
    else if (request.kind === 'progress') await this.#progress();
  }

  /** Resolves when no watch is left. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ run }) => run));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ watch }) => watch[Symbol.asyncDispose]()));
  }

  async #create(create: WatchCreate): Promise<void> {
    const { range, startRevision, watchId } = create;
    if (startRevision < 0) return this.#refuse(COMPACTED);
    if (!range) return this.#refuse('mvcc: watcher range is empty');
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
    // A watch of what is to come has told everything up to where it starts.
    const running: Running = { watch, run: Promise.resolve(), told: startRevision > 0 ? 0 : revision };
    this.#running.set(id, running);
    this.#toldByAll = Math.min(this.#toldByAll, running.told);
    if (this.#wanted && running.told < this.#wanted.revision) this.#wanted.missing.add(running);
    await this.#answer({ revision, watchId: id, created: true });
    running.run = this.#run(id, running, create);
  }

  async #run(id: number, running: Running, create: WatchCreate): Promise<void> {
    const { watch } = running;
    try {
      for (;;) {
        await this.#stream.ready();
        const { done, value: batch } = await watch.next();
        if (done) break;
        const { revision, events } = batch;
        const wanted =
          create.noPut || create.noDelete
            ? events.filter(({ type }) => !(type === 'put' ? create.noPut : create.noDelete))
            : events;
        if (wanted.length > 0) await this.#tell(id, revision, wanted, create.fragment);
        else if (events.length === 0 && create.wantsProgress) await this.#answer({ revision, watchId: id });
        running.told = revision;
        await this.#hasTold(running);
      }
    } catch (err) {
      const revision = await this.#store.revision().catch(() => 0);
      const compactRevision = isStoreError(err, 'Compacted') ? (err.compactRevision ?? 0) : 0;
      const cancelReason = compactRevision > 0 ? '' : toFrontError(err).message;
      await this.#answer({ revision, watchId: id, canceled: true, compactRevision, cancelReason });
    } finally {
      this.#running.delete(id);
      if (this.#wanted?.missing.delete(running)) await this.#answerProgress();
    }
  }

  async #tell(id: number, revision: Revision, events: readonly WatchEvent[], mayCut: boolean): Promise<void> {
    const answer = { revision, watchId: id };
    if (mayCut && isLong(events)) await this.#oneAtATime(() => this.#tellInPieces(answer, events));
    else if (events.length > EVENTS_PER_TURN) await this.#oneAtATime(() => this.#tellMany(answer, events));
    else await this.#answer({ ...answer, events });
  }

  /** One response, written down in turns. */
  async #tellMany(answer: WatchAnswer, events: readonly WatchEvent[]): Promise<void> {
    await this.#stream.ready();
    const parts = [encodeWatchAnswer(answer)];
    for (let from = 0; from < events.length; from += EVENTS_PER_TURN) {
      await nextTurn();
      parts.push(encodeWatchEvents(events.slice(from, from + EVENTS_PER_TURN)));
    }
    await this.#stream.send(() => [Buffer.concat(parts)]);
  }

  /** As many responses as it takes: nothing may come between them. */
  async #tellInPieces(answer: WatchAnswer, events: readonly WatchEvent[]): Promise<void> {
    await this.#stream.ready();
    const pieces: Uint8Array[] = [];
    let from = 0;
    let bytes = 0;
    for (const [at, event] of events.entries()) {
      const size = sizeOfEvent(event);
      const isFull = bytes + size > FRAGMENT_BYTES || at - from === EVENTS_PER_TURN;
      if (isFull && at > from) {
        await nextTurn();
        pieces.push(encodeWatchAnswer({ ...answer, fragment: true, events: events.slice(from, at) }));
        from = at;
        bytes = 0;
      }
      bytes += size;
    }
    pieces.push(encodeWatchAnswer({ ...answer, events: events.slice(from) }));
    await this.#stream.send(() => pieces);
  }

  #oneAtATime(work: () => Promise<void>): Promise<void> {
    this.#long = this.#long.then(work);
    return this.#long;
  }

  async #cancel(id: number): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return;
    await running.watch[Symbol.asyncDispose]();
    await running.run;
    await this.#answer({ revision: await this.#store.revision(), watchId: id, canceled: true });
  }

  async #progress(): Promise<void> {
    if (this.#running.size === 0) return;
    if (this.#wanted) return this.#askAgain();
    const revision = await this.#store.revision();
    if (this.#toldByAll >= revision) return this.#answer({ revision, watchId: -1 });
    const missing = new Set<Running>();
    for (const running of this.#running.values()) if (running.told < revision) missing.add(running);
    this.#wanted = { revision, missing };
    for (const { watch } of missing) watch.requestProgress();
    await this.#answerProgress();
  }

  /** For those who could not tell it the last time; many requests at once are one. */
  #askAgain(): void {
    if (this.#isAskingAgain) return;
    this.#isAskingAgain = true;
    setImmediate(() => {
      this.#isAskingAgain = false;
      for (const { watch } of this.#wanted?.missing ?? []) watch.requestProgress();
    });
  }

  async #hasTold(running: Running): Promise<void> {
    const wanted = this.#wanted;
    if (wanted && running.told >= wanted.revision && wanted.missing.delete(running)) await this.#answerProgress();
  }

  async #answerProgress(): Promise<void> {
    const wanted = this.#wanted;
    if (!wanted || wanted.missing.size > 0) return;
    this.#wanted = undefined;
    if (this.#running.size === 0) return;
    let revision = Number.POSITIVE_INFINITY;
    for (const { told } of this.#running.values()) revision = Math.min(revision, told);
    this.#toldByAll = revision;
    await this.#answer({ revision, watchId: -1 });
  }

  async #refuse(cancelReason: string): Promise<void> {
    const revision = await this.#store.revision();
    await this.#answer({ revision, watchId: -1, created: true, canceled: true, cancelReason });
  }

  async #answer(answer: WatchAnswer): Promise<void> {
    await this.#stream.send(() => [encodeWatchAnswer(answer)]);
  }

  #freeId(): number {
    while (this.#running.has(this.#nextId)) this.#nextId++;
    return this.#nextId++;
  }
}

function isLong(events: readonly WatchEvent[]): boolean {
  if (events.length > EVENTS_PER_TURN) return true;
  let bytes = 0;
  for (const event of events) bytes += sizeOfEvent(event);
  return bytes > FRAGMENT_BYTES;
}
