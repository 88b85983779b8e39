/**
 * Runs operations against the model and a real store side by side and demands equal answers: results, error codes,
 * and everything that watches deliver.
 *
 * The real store may be a server that others used before: its revisions are the model's plus an offset, its keys lie
 * under a prefix, its leases have ids of this run. Before a compaction all open watches are read to the end, because a
 * watch that is behind may rightly end with Compacted or not.
 */
import { expect } from 'vitest';
import { isStoreError } from '../../src/store/errors.ts';
import type {
  Compare,
  Key,
  KeyRange,
  Op,
  RangeOptions,
  Revision,
  Store,
  Txn,
  Watch,
  WatchBatch,
} from '../../src/store/kv.ts';
import { type Recording, violations } from '../support/store/history.ts';
import { ModelStore } from '../support/store/model-store.ts';
import { bytes, put } from '../support/store/store-under-test.ts';
import { readThrough } from '../support/store/watching.ts';
import type { CompareShape, Operation, OpShape, RangeShape, ReadShape, TxnShape } from './operations.ts';

export type RealStore = {
  readonly store: Store;
  readonly prefix: Key;
  /** False only for servers known to forget the deletes of the very revision they compact at: no watch starts there. */
  readonly keepsDeletes?: boolean;
  reopen?(): Promise<Store>;
};

type OpenWatch = { readonly watch: Watch; readonly recording: Recording & { batches: WatchBatch[] } };

let leaseIds = 1000n;

export class SideBySide {
  readonly #model = new ModelStore();
  readonly #real: RealStore;
  #store: Store;
  /** Real revision minus model revision. */
  readonly #offset: number;
  readonly #leaseBase: bigint;
  #watches: OpenWatch[] = [];

  private constructor(real: RealStore, startRevision: Revision) {
    this.#real = real;
    this.#store = real.store;
    this.#offset = startRevision - 1;
    leaseIds += 10n;
    this.#leaseBase = leaseIds;
  }

  static async start(real: RealStore): Promise<SideBySide> {
    return new SideBySide(real, await real.store.revision());
  }

  async run(operations: readonly Operation[]): Promise<void> {
    await this.#apply({ kind: 'grant', lease: 1 });
    for (const operation of operations) {
      await this.#apply(operation);
      expect(await this.#store.revision()).toBe((await this.#model.revision()) + this.#offset);
    }
    await this.#finish();
  }

  /** Every future watch has begun before the last reading. */
  async #finish(): Promise<void> {
    const farthest = Math.max(0, ...this.#watches.map(({ recording }) => recording.fromRevision));
    while ((await this.#model.revision()) < farthest)
      for (const store of [this.#model, this.#store]) await put(store, `${this.#real.prefix}zz`);
    await this.#readOpenWatches();
    for (const { watch } of this.#watches) await watch.return();
    await this.#same((store) => store.range({ prefix: this.#real.prefix }));
  }

  async #apply(operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'txn': {
        const txn = await this.#txn(operation);
        return this.#same((store, offset) => store.txn(shifted(txn, offset)));
      }
      case 'range': {
        const options = await this.#readOptions(operation.read);
        const range = this.#range(operation.range);
        return this.#same((store, offset) => store.range(range, shiftedRead(options, offset)));
      }
      case 'get': {
        const revision = operation.back === undefined ? undefined : await this.#revisionBack(operation.back);
        const options = revision === undefined ? {} : { revision };
        return this.#same((store, offset) =>
          store.get(this.#real.prefix + operation.key, shiftedRead(options, offset)),
        );
      }
      case 'compact': {
        await this.#readOpenWatches();
        // Not the revision a run starts at: on a shared server the run before may have compacted there.
        const revision = Math.max(2, await this.#revisionBack(operation.back));
        return this.#same((store, offset) => store.compact(revision + offset, { physical: operation.physical }));
      }
      case 'grant':
        return this.#same((store) => store.grantLease(5000, { id: this.#lease(operation.lease) }));
      case 'revoke':
        return this.#same((store) => store.revokeLease(this.#lease(operation.lease)));
      case 'keepalive':
        return this.#same((store) => store.keepLeaseAlive(this.#lease(operation.lease)));
      case 'leaseInfo':
        return this.#same(async (store) => (await store.leaseInfo(this.#lease(operation.lease)))?.keys);
      case 'openWatch':
        return this.#openWatch(operation.range, await this.#revisionBack(operation.back), operation.prevKv);
      case 'readWatch': {
        const fromRevision = Math.min(await this.#revisionBack(operation.back), (await this.#model.revision()) + 1);
        const before = this.#watches;
        this.#watches = [];
        await this.#openWatch(operation.range, fromRevision, operation.prevKv);
        await this.#readOpenWatches();
        for (const { watch } of this.#watches) await watch.return();
        this.#watches = before;
        return;
      }
      case 'readOpenWatches':
        return this.#readOpenWatches();
      case 'reopen': {
        if (!this.#real.reopen) return;
        await this.#readOpenWatches();
        for (const { watch } of this.#watches) await watch.return();
        this.#watches = [];
        this.#store = await this.#real.reopen();
        return;
      }
    }
  }

  /** Both must answer alike or refuse alike. */
  async #same(call: (store: Store, offset: number) => Promise<unknown>): Promise<void> {
    const wanted = await outcome(call(this.#model, 0), 0);
    const got = await outcome(call(this.#store, this.#offset), this.#offset);
    // Reads of etcd do not tell where the compaction is.
    const isUntold = 'code' in wanted && 'code' in got && got.compactRevision === undefined;
    expect(got).toEqual(isUntold ? { code: wanted.code } : wanted);
  }

  async #openWatch(shape: RangeShape, wanted: Revision, prevKv: boolean): Promise<void> {
    const range = this.#range(shape);
    const { compactRevision } = this.#model;
    const fromRevision = wanted === compactRevision && this.#real.keepsDeletes === false ? wanted + 1 : wanted;
    const watch = this.#store.watch(range, { fromRevision: fromRevision + this.#offset, prevKv });
    if (fromRevision < compactRevision) {
      const refused = await outcome(watch.next(), this.#offset);
      expect(refused).toEqual({ code: 'Compacted', compactRevision });
      return;
    }
    expect(await watch.started()).toBe(fromRevision - 1 + this.#offset);
    this.#watches.push({ watch, recording: { range, fromRevision, prevKv, compactRevision, batches: [] } });
  }

  async #readOpenWatches(): Promise<void> {
    const now = await this.#model.revision();
    for (const { watch, recording } of this.#watches) {
      if (recording.fromRevision > now + 1 || (recording.batches.at(-1)?.revision ?? 0) >= now) continue;
      const batches = await readThrough(watch, now + this.#offset);
      recording.batches.push(...batches.map((batch) => unshifted(batch, this.#offset) as WatchBatch));
      expect(recording.batches.at(-1)?.revision).toBe(now);
      expect(violations(recording, this.#model.past)).toEqual([]);
    }
  }

  async #txn(shape: TxnShape, readsBack: boolean = doesReadBack(shape)): Promise<Txn> {
    const branch = (shapes: readonly OpShape[]) => Promise.all(shapes.map((op) => this.#op(op, readsBack)));
    return {
      compare: await Promise.all(shape.compare.map((one) => this.#compare(one))),
      then: await branch(shape.then),
      else: await branch(shape.else),
    };
  }

  /** A transaction that reads old revisions uses no leases and keeps nothing: which refusal comes first is not promised. */
  async #op(shape: OpShape, readsBack: boolean): Promise<Op> {
    switch (shape.kind) {
      case 'put': {
        const keeps = readsBack ? undefined : shape.keeps;
        const hasLease = shape.lease !== 0 && !readsBack && keeps === undefined;
        const pair = {
          key: this.#real.prefix + shape.key,
          value: bytes(keeps === 'value' ? '' : shape.value),
          ...(hasLease && { lease: this.#lease(shape.lease) }),
        };
        const kept = keeps === 'value' ? { ignoreValue: true } : keeps === 'lease' ? { ignoreLease: true } : {};
        return { kind: 'put', ...pair, ...kept, prevKv: shape.prevKv };
      }
      case 'delete':
        return { kind: 'delete', range: this.#range(shape.range), prevKv: shape.prevKv };
      case 'range':
        return { kind: 'range', range: this.#range(shape.range), options: await this.#readOptions(shape.read) };
      case 'txn':
        return { kind: 'txn', txn: await this.#txn(shape, readsBack) };
    }
  }

  async #compare({ range: shape, is, target, key, shift }: CompareShape): Promise<Compare> {
    const range = this.#range(shape);
    const { kv } = await this.#model.get(this.#real.prefix + key);
    if (target === 'value') return { range, is, target, than: kv?.value ?? bytes('x') };
    if (target === 'lease') return { range, is, target, than: (kv?.lease ?? 0n) + (shift > 0 ? 1n : 0n) };
    return { range, is, target, than: Math.max(0, (kv?.[target] ?? 0) + shift) };
  }

  async #readOptions({ back, limit, keysOnly, countOnly }: ReadShape): Promise<RangeOptions> {
    return {
      keysOnly,
      countOnly,
      ...(limit === undefined ? {} : { limit }),
      ...(back === undefined ? {} : { revision: await this.#revisionBack(back) }),
    };
  }

  async #revisionBack(back: number): Promise<Revision> {
    return Math.max(1, (await this.#model.revision()) - back);
  }

  #lease(number: number): bigint {
    return this.#leaseBase + BigInt(number);
  }

  #range(shape: RangeShape): KeyRange {
    const { prefix } = this.#real;
    if ('keys' in shape) {
      const [start, end] = [...shape.keys].sort() as [string, string];
      return { start: prefix + start, end: prefix + (start === end ? 'z' : end) };
    }
    if (shape.kind === 'key') return { key: prefix + shape.key };
    return shape.kind === 'prefix' ? { prefix: prefix + shape.key } : { start: prefix + shape.key };
  }
}

type Outcome = { answer: unknown } | { code: string; compactRevision?: Revision };

/** The answer or the refusal, in the model's revisions and plain values, fit for comparing. */
async function outcome(call: Promise<unknown>, offset: number): Promise<Outcome> {
  try {
    return { answer: unshifted(await call, offset) };
  } catch (err) {
    if (!isStoreError(err)) throw err;
    const { code, compactRevision } = err;
    return compactRevision === undefined ? { code } : { code, compactRevision: compactRevision - offset };
  }
}

const revisionFields = new Set(['revision', 'createRevision', 'modRevision']);

/** A copy with every revision moved back to the model's counting; 0 stands for "none" and stays. */
function unshifted(value: unknown, offset: number): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map((each) => unshifted(each, offset));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      revisionFields.has(name) && field !== 0 ? (field as number) - offset : unshifted(field, offset),
    ]),
  );
}

function doesReadBack({ then, else: otherwise }: TxnShape): boolean {
  return [...then, ...otherwise].some((op) =>
    op.kind === 'txn' ? doesReadBack(op) : op.kind === 'range' && op.read.back !== undefined,
  );
}

function shifted(txn: Txn, offset: number): Txn {
  const branch = (ops: readonly Op[] = []) =>
    ops.map((op) => {
      if (op.kind === 'txn') return { ...op, txn: shifted(op.txn, offset) };
      return op.kind === 'range' ? { ...op, options: shiftedRead(op.options ?? {}, offset) } : op;
    });
  const compare = (txn.compare ?? []).map((one) =>
    (one.target === 'modRevision' || one.target === 'createRevision') && one.than > 0
      ? { ...one, than: one.than + offset }
      : one,
  );
  return { compare, then: branch(txn.then), else: branch(txn.else) };
}

function shiftedRead(options: RangeOptions, offset: number): RangeOptions {
  return options.revision === undefined ? options : { ...options, revision: options.revision + offset };
}
