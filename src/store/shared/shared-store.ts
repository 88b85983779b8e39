/**
 * The store of another thread, through a port: the same contract, kept by the store that its owner has.
 *
 * Always true: calls reach the owner in the order in which they were made. Where several ask for the revision before the
 * next message leaves, one question answers them all: it leaves after the last of them asked. A call whose signal fires rejects at once, and the
 * owner gives it up if it can. Closing lets go of the port; the store and its other threads go on.
 */
import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { closeOnce } from '../../api/closing.ts';
import { StoreError } from '../errors.ts';
import { boundsOf, checkNotNegative } from '../keys.ts';
import type {
  CallOptions,
  GetResult,
  Key,
  KeyRange,
  KeyValue,
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
import { isInHistory } from '../store-history.ts';
import { onAbort } from './abort-calls.ts';
import { Outbox } from './outbox.ts';
import { type CallName, type Greeting, heardError, type Order, type Report, type SideLine } from './shared-messages.ts';
import { ownValues } from './shared-values.ts';
import { SharedWatch } from './shared-watch.ts';
import { PortSideLine } from './side-line.ts';

type Waiting = {
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** What came ahead of the answer. */
  parts: KeyValue[] | undefined;
  /** Who is to be told of the bytes of values. */
  readonly claim: RangeOptions['claim'];
};

/** Resolves when the owner has greeted. */
export async function openSharedStore(port: MessagePort): Promise<Store & { readonly beside: SideLine }> {
  const [greeting] = (await once(port, 'message')) as [Greeting];
  return new SharedStore(port, greeting);
}

class SharedStore implements Store {
  readonly history?: StoreHistory;
  readonly maxPutBytes?: number;
  readonly close: () => Promise<void>;
  readonly beside: SideLine;
  readonly #beside: PortSideLine;
  readonly #out: Outbox<Order>;
  readonly #calls = new Map<number, Waiting>();
  readonly #watches = new Map<number, SharedWatch>();
  #lastId = 0;
  #closed: StoreError | undefined;
  /** The question that is not sent yet. */
  #revision: { readonly answer: Promise<Revision>; readonly sentBefore: number } | undefined;

  constructor(port: MessagePort, { history, maxPutBytes }: Greeting) {
    if (history) this.history = { ...history, includes: (name, revision) => isInHistory(history.ends, name, revision) };
    if (maxPutBytes !== undefined) this.maxPutBytes = maxPutBytes;
    this.#out = new Outbox(port);
    this.#beside = new PortSideLine((beside) => this.#out.post(beside));
    this.beside = this.#beside;
    port.on('message', (reports: readonly Report[]) => {
      for (const report of reports) this.#hear(report);
    });
    port.on('close', () => this.#end());
    this.close = closeOnce(async () => {
      this.#end();
      this.#out.close();
      port.close();
    });
  }

  get(key: Key, { signal, ...options }: ReadOptions & CallOptions = {}): Promise<GetResult> {
    return this.#call('get', [key, options], signal);
  }

  /** `claim` is told of values when they are here; until then they count as on their way, of which there are not too many. */
  range(
    range: KeyRange,
    { signal, take: _, claim, ...options }: RangeOptions & CallOptions = {},
  ): Promise<RangeResult> {
    const isCounted = claim !== undefined;
    return this.#call('range', [range, { ...options, isCounted }], signal, undefined, claim);
  }

  txn(txn: Txn, { signal }: CallOptions = {}): Promise<TxnResult> {
    const transfer: ArrayBuffer[] = [];
    return this.#call('txn', [ownValues(txn, transfer), {}], signal, transfer);
  }

  revision({ signal }: CallOptions = {}): Promise<Revision> {
    const sentBefore = this.#out.sent;
    if (this.#revision?.sentBefore !== sentBefore) {
      const answer = this.#call<Revision>('revision', [{}], undefined);
      answer.catch(() => {}); // whoever asked may have left
      this.#revision = { answer, sentBefore };
    }
    return answered(this.#revision.answer, signal);
  }

  compact(revision: Revision, { signal, ...options }: { physical?: boolean } & CallOptions = {}): Promise<void> {
    return this.#call('compact', [revision, options], signal);
  }

  grantLease(ttlSeconds: number, { signal, ...options }: { id?: LeaseId } & CallOptions = {}): Promise<Lease> {
    return this.#call('grantLease', [ttlSeconds, options], signal);
  }

  keepLeaseAlive(id: LeaseId, { signal }: CallOptions = {}): Promise<number> {
    return this.#call('keepLeaseAlive', [id, {}], signal);
  }

  revokeLease(id: LeaseId, { signal }: CallOptions = {}): Promise<void> {
    return this.#call('revokeLease', [id, {}], signal);
  }

  leaseInfo(
    id: LeaseId,
    { signal, ...options }: { keys?: boolean } & CallOptions = {},
  ): Promise<LeaseInfo | undefined> {
    return this.#call('leaseInfo', [id, options], signal);
  }

  leases({ signal }: CallOptions = {}): Promise<readonly LeaseId[]> {
    return this.#call('leases', [{}], signal);
  }

  status({ signal }: CallOptions = {}): Promise<StoreStatus> {
    return this.#call('status', [{}], signal);
  }

  snapshot(file: string, { signal }: CallOptions = {}): Promise<SnapshotInfo> {
    return this.#call('snapshot', [file, {}], signal);
  }

  watch(range: KeyRange, { signal, ...options }: WatchOptions = {}): Watch {
    if (this.#closed) throw this.#closed;
    boundsOf(range);
    checkNotNegative('revision', options.fromRevision ?? 0);
    const id = ++this.#lastId;
    const watch = new SharedWatch({
      signal,
      order: (order) => this.#out.post({ ...order, id }),
      onEnd: () => this.#watches.delete(id),
    });
    if (watch.isOver) return watch;
    this.#watches.set(id, watch);
    this.#out.post({ kind: 'watch', id, range, options });
    return watch;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #call<T>(
    name: CallName,
    args: readonly unknown[],
    signal: AbortSignal | undefined,
    transfer?: readonly ArrayBuffer[],
    claim?: RangeOptions['claim'],
  ): Promise<T> {
    if (this.#closed) throw this.#closed;
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const abandon = () => {
      this.#out.post({ kind: 'cancel', id });
      this.#calls.get(id)?.reject(signal?.reason);
    };
    const forget = onAbort(signal, abandon);
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#calls.set(id, { resolve: resolve as (result: unknown) => void, reject, parts: undefined, claim });
        this.#out.post({ kind: 'call', id, name, args, mayCancel: signal !== undefined }, transfer);
      });
    } finally {
      this.#calls.delete(id);
      forget();
    }
  }

  #hear(report: Report): void {
    if (report.kind === 'beside') {
      this.#beside.hear(report);
      return;
    }
    const { id } = report;
    switch (report.kind) {
      case 'answer':
        if (report.counted) this.#out.post({ kind: 'arrived', bytes: report.counted });
        this.#answered(id, report.result, report.counted);
        return;
      case 'part': {
        const call = this.#calls.get(id);
        if (!call) return;
        call.parts ??= [];
        for (const kv of report.kvs) call.parts.push(kv);
        return;
      }
      case 'failed':
        this.#calls.get(id)?.reject(heardError(report.error));
        return;
      case 'started':
        this.#watches.get(id)?.hasStarted(report.revision);
        return;
      case 'batch':
        this.#watches.get(id)?.hear(report);
        return;
      case 'ended':
        this.#watches.get(id)?.end(report.error && heardError(report.error), false);
        return;
    }
  }

  #answered(id: number, result: unknown, counted = 0): void {
    const call = this.#calls.get(id);
    try {
      if (counted > 0) call?.claim?.(counted);
    } catch (err) {
      call?.reject(err);
      return;
    }
    if (!call?.parts) {
      call?.resolve(result);
      return;
    }
    const range = result as RangeResult;
    for (const kv of range.kvs) call.parts.push(kv);
    call.resolve({ ...range, kvs: call.parts });
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = new StoreError('Closed', 'Cannot use the store: it is closed');
    for (const { reject } of this.#calls.values()) reject(this.#closed);
    for (const watch of [...this.#watches.values()]) watch.end(this.#closed);
    this.#beside.end();
  }
}

/** The answer, unless the signal fires before. */
async function answered<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  let forget: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => reject(signal?.reason));
  });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    forget?.();
  }
}
