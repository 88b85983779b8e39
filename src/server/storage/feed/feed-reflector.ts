/**
 * Keeps a cache true to that of the thread that has the store: it is told where the bytes of objects lie, in memory that
 * both see, and copies none of them.
 *
 * Always true: what is told is taken in at once and in order; what comes between the parts of a state waits for its end. When
 * the other thread has no such objects, or has them in another form (the definition of a custom kind is not the same on both
 * yet), they are read from the store.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { SideLine } from '../../../store/index.ts';
import type { Cacher } from '../cacher/cacher.ts';
import type { ObjectChange, ObjectSource, SourceTarget } from '../cacher/object-source.ts';
import { Slab } from '../objects/slab.ts';
import { StoredObject } from '../objects/stored-object.ts';
import {
  BATCH_NUMBERS,
  FEED_ROOM,
  type FeedOrder,
  type FeedReport,
  formOf,
  type Memory,
  PACKED_NUMBERS,
  STATE_NUMBERS,
} from './feed-messages.ts';

type Told = Exclude<FeedReport, { kind: 'ended' }>;

/** What a worker has of the owner's caches: the one end of a line for all that follow there. */
export class ObjectFeed {
  readonly #line: SideLine;
  readonly #followers = new Map<number, (report: FeedReport) => void>();
  #lastId = 0;

  constructor(line: SideLine) {
    this.#line = line;
    line.listen(
      (message) => this.#followers.get((message as FeedReport).id)?.(message as FeedReport),
      () => this.#followers.clear(),
    );
  }

  follow(hear: (report: FeedReport) => void): number {
    const id = ++this.#lastId;
    this.#followers.set(id, hear);
    return id;
  }

  order(order: FeedOrder): void {
    this.#line.post(order);
    if (order.kind === 'leave') this.#followers.delete(order.id);
  }
}

export type FeedReflectorOptions = {
  readonly feed: ObjectFeed;
  readonly cacher: Cacher;
  readonly target: SourceTarget;
  /** Reads the store instead. */
  readonly instead: () => ObjectSource;
};

/** Until one asks again after the other thread has let go of its cache. */
const AGAIN_MS = 1000;

export class FeedReflector implements ObjectSource {
  readonly #options: FeedReflectorOptions;
  readonly #stop = new AbortController();
  #id: number | undefined;
  #instead: ObjectSource | undefined;
  #answersProgress: boolean | undefined;
  #taken = 0;
  /** The parts of a state that have come, and what came after its beginning; undefined: it is whole. */
  #found: Map<string, StoredObject> | undefined = new Map();
  #later: Told[] = [];

  constructor(options: FeedReflectorOptions) {
    this.#options = options;
    this.#follow();
  }

  requestProgress(): void {
    if (this.#instead) this.#instead.requestProgress();
    else if (this.#id !== undefined) this.#options.feed.order({ kind: 'progress', id: this.#id });
  }

  get answersProgress(): boolean | undefined {
    return this.#instead ? this.#instead.answersProgress : this.#answersProgress;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#leave();
    await this.#instead?.close();
  }

  #follow(): void {
    const { feed, cacher } = this.#options;
    const { group, plural } = cacher.codec.resource;
    this.#taken = 0;
    this.#id = feed.follow((report) => this.#hear(report));
    feed.order({ kind: 'follow', id: this.#id, what: { group, plural, form: formOf(cacher.codec) } });
  }

  #leave(): void {
    if (this.#id !== undefined) this.#options.feed.order({ kind: 'leave', id: this.#id });
    this.#id = undefined;
  }

  #hear(report: FeedReport): void {
    if (report.kind === 'ended') {
      void this.#ended(report.isUnknown);
      return;
    }
    this.#taken += report.weight;
    if (this.#taken >= FEED_ROOM / 4) {
      this.#options.feed.order({ kind: 'took', id: report.id, weight: this.#taken });
      this.#taken = 0;
    }
    if (report.kind === 'state') this.#takeState(report);
    else if (this.#found) this.#later.push(report);
    else this.#take(report);
  }

  async #ended(isUnknown: boolean): Promise<void> {
    this.#leave();
    if (!isUnknown) await delay(AGAIN_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
    if (this.#stop.signal.aborted) return;
    if (isUnknown) this.#instead = this.#options.instead();
    else this.#follow();
  }

  #takeState(report: Extract<FeedReport, { kind: 'state' }>): void {
    if (report.isFirst) {
      this.#found = new Map();
      this.#later = [];
    }
    const found = this.#found!;
    const pieces = piecesOf(report.memories);
    for (const [i, key] of report.keys.entries()) {
      const object = this.#object(key, report.numbers, i * STATE_NUMBERS, pieces);
      found.set(key, object);
    }
    if (!report.isLast) return;
    const later = this.#later;
    this.#found = undefined;
    this.#later = [];
    this.#options.target.replace(found, report.revision, true);
    for (const one of later) this.#take(one);
  }

  #take(report: Told): void {
    if (report.kind === 'batch') this.#takeBatch(report);
    else if (report.kind === 'packed') this.#takePacked(report);
  }

  #takeBatch({ keys, numbers, memories, revision, answersProgress }: Extract<FeedReport, { kind: 'batch' }>): void {
    this.#answersProgress = answersProgress;
    const pieces = piecesOf(memories);
    const changes = keys.map((key, i): ObjectChange => {
      const at = i * BATCH_NUMBERS;
      const current = numbers[at + 1]! < 0 ? undefined : this.#object(key, numbers, at, pieces);
      const before = numbers[at + 5]!;
      const previousBytes = before < 0 ? undefined : viewOf(pieces[before]!, numbers[at + 6]!, numbers[at + 7]!);
      return { key, revision: numbers[at]!, current, previousBytes };
    });
    this.#options.target.apply(changes, revision);
  }

  #takePacked({ slab: memory, keys, numbers }: Extract<FeedReport, { kind: 'packed' }>): void {
    const slab = new Slab(Buffer.from(memory));
    slab.used = memory.byteLength;
    for (const [i, key] of keys.entries()) {
      const at = i * PACKED_NUMBERS;
      const place = slab.bytes.subarray(numbers[at + 1]!, numbers[at + 1]! + numbers[at + 2]!);
      this.#options.target.move(key, numbers[at]!, slab, place);
    }
  }

  /** Of the first five numbers from `at` on. */
  #object(key: string, numbers: readonly number[], at: number, pieces: readonly Piece[]): StoredObject {
    const { codec } = this.#options.cacher;
    const piece = pieces[numbers[at + 1]!]!;
    const bytes = viewOf(piece, numbers[at + 2]!, numbers[at + 3]!);
    const slash = codec.resource.isNamespaced ? key.indexOf('/') : -1;
    const [namespace, name] = slash < 0 ? ['', key] : [this.#namespace(key.slice(0, slash)), key.slice(slash + 1)];
    const object = new StoredObject(codec, namespace, name, numbers[at]!, bytes, numbers[at + 4]!, key);
    if (piece.slab) object.moveInto(piece.slab, bytes);
    return object;
  }

  #lastNamespace = '';

  /** One string for neighbours that are in the same. */
  #namespace(namespace: string): string {
    if (namespace !== this.#lastNamespace) this.#lastNamespace = namespace;
    return this.#lastNamespace;
  }
}

type Piece = { readonly bytes: Buffer; readonly slab: Slab | undefined };

function piecesOf(memories: readonly Memory[]): readonly Piece[] {
  return memories.map(({ bytes: memory, isSlab }) => {
    const bytes = Buffer.from(memory);
    const slab = isSlab ? new Slab(bytes) : undefined;
    if (slab) slab.used = bytes.length;
    return { bytes, slab };
  });
}

function viewOf({ bytes }: Piece, at: number, length: number): Buffer {
  return bytes.subarray(at, at + length);
}
