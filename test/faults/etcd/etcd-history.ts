/**
 * What the fault tests of etcd hold against each other: writers that number their writes and remember what they were
 * told, readers that write down what a watch showed, and the comparison of both with the store's own history.
 */
import { expect } from 'vitest';
import { isStoreError, type Store, type WatchBatch } from '../../../src/store/index.ts';

export type WriteLog = { readonly acknowledged: Map<string, number>; readonly unknown: Set<string> };
export type Seen = { revision: number; key: string; value: string; type: string };

const encode = (text: string): Buffer => Buffer.from(text);
const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** Two keys in one revision per write, so that a split revision would show. */
export async function writeUntil(store: Store, name: string, isOver: () => boolean): Promise<WriteLog> {
  const log: WriteLog = { acknowledged: new Map(), unknown: new Set() };
  for (let i = 0; !isOver(); i++) {
    const value = `${name}-${i}`;
    const put = (key: string) => ({ kind: 'put' as const, key, value: encode(value) });
    try {
      const { revision } = await store.txn({ then: [put(`w/${name}/a`), put(`w/${name}/b`)] });
      log.acknowledged.set(value, revision);
    } catch (err) {
      if (isStoreError(err, 'OutcomeUnknown')) log.unknown.add(value);
      else if (!isStoreError(err, 'Unavailable')) throw err;
    }
  }
  return log;
}

/** Reads until a batch reaches `until()`, which may become known only later; checks the order on the way. */
export class Recorder {
  readonly seen: Seen[] = [];
  lastRevision = 0;
  #onBatch: () => void = () => {};
  readonly #batches: AsyncIterable<WatchBatch>;

  constructor(batches: AsyncIterable<WatchBatch>) {
    this.#batches = batches;
  }

  async run(): Promise<void> {
    for await (const { revision, events } of this.#batches) {
      const first = events[0]?.kv.modRevision ?? revision;
      if (first < this.lastRevision || (events.length > 0 && first === this.lastRevision))
        throw new Error(`Cannot go back: revision ${first} came after ${this.lastRevision}`);
      for (const { type, kv } of events)
        this.seen.push({ revision: kv.modRevision, key: kv.key, value: decode(kv.value), type });
      this.lastRevision = revision;
      this.#onBatch();
    }
  }

  async reached(revision: number): Promise<void> {
    while (this.lastRevision < revision)
      await new Promise<void>((resolve) => {
        this.#onBatch = resolve;
      });
  }
}

/** The whole history of the store, read by a watch of its own from the first revision. */
export async function historyOf(store: Store, until: number): Promise<Seen[]> {
  await using watch = store.watch({ prefix: 'w/' }, { fromRevision: 1 });
  const recorder = new Recorder(watch);
  const running = recorder.run();
  await recorder.reached(until);
  await watch.return();
  await running;
  return recorder.seen;
}

/** Every acknowledged write is there, at its revision and once; nothing is there that nobody wrote. */
export function checkWrites(history: readonly Seen[], logs: readonly WriteLog[]): void {
  const revisions = new Map<string, Set<number>>();
  for (const { value, revision } of history) {
    const of = revisions.get(value) ?? new Set();
    revisions.set(value, of.add(revision));
  }
  const written = new Set<string>();
  for (const { acknowledged, unknown } of logs) {
    for (const [value, revision] of acknowledged) {
      expect([...(revisions.get(value) ?? [])], `acknowledged write ${value}`).toEqual([revision]);
      written.add(value);
    }
    for (const value of unknown) written.add(value);
  }
  for (const [value, at] of revisions) {
    expect(written.has(value), `${value} is in the store and its writer was told that it is not`).toBe(true);
    expect(at.size, `${value} was written once`).toBe(1);
  }
}
