/**
 * The store on an etcd v3 cluster: the contract of kv.ts, said in etcd's protocol.
 *
 * Always true: reads are linearizable. A read is tried again on another member until `requestTimeoutMs` is over; a write
 * is sent at most once, and if it may have been sent and no clear answer came, it ends with OutcomeUnknown. Calls,
 * watches and snapshots each have connections of their own, so none waits behind the bytes of another kind. After
 * `close` nothing of it is left: no connection, no timer, no waiting promise.
 *
 * It fails with a StoreError (grpc-to-store-error.ts). Lost members are no failure while one of them can answer.
 */
import { type Clock, holdingClock } from '../../api/index.ts';
import { StoreError } from '../errors.ts';
import { boundsOf, checkKey } from '../keys.ts';
import type * as kv from '../kv.ts';
import { callUnary } from './grpc/call.ts';
import { Channel } from './grpc/channel.ts';
import type { Connection } from './grpc/connection.ts';
import { type EtcdTlsOptions, parseEndpoints } from './grpc/endpoint.ts';
import { toStoreError } from './grpc/grpc-to-store-error.ts';
import { onAbort } from './grpc/on-abort.ts';
import * as kvMessages from './messages/messages.ts';
import * as adminMessages from './messages/messages-admin.ts';
import { decodeTxn, encodeTxn } from './messages/messages-txn.ts';
import { saveSnapshot } from './snapshot.ts';
import { EtcdWatch, type WatchSource } from './watch/watch.ts';

export type EtcdStoreOptions = {
  /** `http://host:port` or `https://host:port`, of one cluster. The first that answers is used. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTlsOptions;
  /** For one call with all its attempts; 15 s by default. */
  readonly requestTimeoutMs?: number;
  /** For one attempt to reach one member; 3 s by default. */
  readonly dialTimeoutMs?: number;
  /** Between pings while calls or watches are open; 30 s by default. etcd hangs up on pings below its own minimum, 5 s. */
  readonly keepAliveMs?: number;
  /** How long a ping may go unanswered before the member counts as lost; 10 s by default. */
  readonly keepAliveTimeoutMs?: number;
  /** How much may wait for the reader of one watch; 1 MiB by default. */
  readonly watchBufferBytes?: number;
  /** For the pauses between attempts. */
  readonly clock?: Clock;
  /** Told why, each time a call could not reach a member and is tried again. */
  readonly onRetry?: (error: Error) => void;
};

/** Resolves once a member has answered; rejects with Unavailable if none does within the request's time. */
export async function openEtcdStore(options: EtcdStoreOptions & kv.CallOptions): Promise<kv.Store> {
  const store = new EtcdStore(options);
  try {
    await store.revision(options);
    return store;
  } catch (err) {
    await store.close();
    throw err;
  }
}

const mebibyte = 1024 * 1024;

class EtcdStore implements kv.Store {
  readonly #calls: Channel;
  readonly #watching: Channel;
  readonly #bulk: Channel;
  readonly #requestTimeoutMs: number;
  readonly #watches = new Set<EtcdWatch>();
  /** Watches "from now" that etcd has not confirmed yet: what is written from here on must come after their start. */
  readonly #starting = new Set<Promise<void>>();
  readonly #watchSource: WatchSource;
  #isClosed = false;

  constructor(options: EtcdStoreOptions) {
    const channelOptions = {
      endpoints: parseEndpoints(options.endpoints, options.tls),
      tls: options.tls,
      dialTimeoutMs: options.dialTimeoutMs ?? 3000,
      keepAliveMs: options.keepAliveMs ?? 30_000,
      keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 10_000,
      clock: options.clock ?? holdingClock,
      onRetry: options.onRetry,
    };
    this.#requestTimeoutMs = options.requestTimeoutMs ?? 15_000;
    this.#calls = new Channel({ ...channelOptions, streamWindowBytes: 8 * mebibyte });
    // Per watch, and on top of its queue: what a slow reader costs.
    this.#watching = new Channel({ ...channelOptions, streamWindowBytes: mebibyte / 4 });
    this.#bulk = new Channel({ ...channelOptions, streamWindowBytes: 4 * mebibyte });
    this.#watchSource = {
      channel: this.#watching,
      bufferBytes: options.watchBufferBytes ?? mebibyte,
      revision: (signal) => this.revision({ signal }),
      checkReadable: async (revision, signal) => {
        await this.range({ key: '\0' }, { revision, countOnly: true, signal });
      },
      versionOf,
      onEnd: (watch) => void this.#watches.delete(watch),
    };
  }

  async get(key: kv.Key, options: kv.ReadOptions & kv.CallOptions = {}): Promise<kv.GetResult> {
    checkKey(key);
    const { revision, kvs } = await this.range({ key }, options);
    return { revision, kv: kvs[0] };
  }

  async range(range: kv.KeyRange, options: kv.RangeOptions & kv.CallOptions = {}): Promise<kv.RangeResult> {
    const request = kvMessages.encodeRange(range, options);
    const asked = { what: `read ${describe(range)}`, isRead: true };
    return await this.#ask('KV/Range', request, asked, kvMessages.decodeRange, options.signal);
  }

  async txn(txn: kv.Txn, options: kv.CallOptions = {}): Promise<kv.TxnResult> {
    const ops = [...(txn.then ?? []), ...(txn.else ?? [])];
    const asked = { what: describeTxn(txn), isRead: ops.every(({ kind }) => kind === 'range') };
    return await this.#ask('KV/Txn', encodeTxn(txn), asked, decodeTxn, options.signal);
  }

  watch(range: kv.KeyRange, options: kv.WatchOptions = {}): kv.Watch {
    boundsOf(range); // refused at once, not by the first `next`
    if (options.fromRevision !== undefined) kvMessages.checkCount('fromRevision', options.fromRevision);
    const watch = new EtcdWatch(range, options, this.#watchSource);
    if (this.#isClosed) watch.close(closedError());
    else if (!watch.isOver) this.#watches.add(watch);
    if (options.fromRevision === undefined && !watch.isOver) {
      const { begun } = watch;
      this.#starting.add(begun);
      void begun.then(() => this.#starting.delete(begun));
    }
    return watch;
  }

  async revision(options: kv.CallOptions = {}): Promise<kv.Revision> {
    const asked = { what: "read the store's revision", isRead: true };
    const decode = kvMessages.decodeHeaderRevision;
    return await this.#ask('KV/Range', kvMessages.revisionRequest, asked, decode, options.signal);
  }

  async compact(revision: kv.Revision, options: { physical?: boolean } & kv.CallOptions = {}): Promise<void> {
    const physical = options.physical ?? false;
    const request = kvMessages.encodeCompaction(kvMessages.checkCount('revision', revision), physical);
    const asked = { what: `compact up to revision ${revision}`, isRead: false };
    // Removing records can take minutes; then only the pings tell whether the member lives.
    const timeoutMs = physical ? Number.POSITIVE_INFINITY : this.#requestTimeoutMs;
    await this.#ask('KV/Compact', request, asked, () => {}, options.signal, timeoutMs);
  }

  async grantLease(ttlSeconds: number, options: { id?: kv.LeaseId } & kv.CallOptions = {}): Promise<kv.Lease> {
    if (!Number.isSafeInteger(ttlSeconds))
      throw new StoreError('InvalidArgument', `Cannot grant a lease of ${ttlSeconds} s: it must be a whole number`);
    const request = adminMessages.encodeLeaseGrant(ttlSeconds, options.id ?? 0n);
    const asked = { what: `grant a lease of ${ttlSeconds} s`, isRead: false };
    return await this.#ask('Lease/LeaseGrant', request, asked, adminMessages.decodeLease, options.signal);
  }

  async keepLeaseAlive(id: kv.LeaseId, options: kv.CallOptions = {}): Promise<number> {
    // A stream in etcd's protocol; with one message each way it is an ordinary call. Doing it twice does no harm.
    const asked = { what: `keep lease ${id} alive`, isRead: true };
    const decode = (bytes: Uint8Array) => adminMessages.decodeLease(bytes).ttlSeconds;
    const request = adminMessages.encodeLeaseId(id);
    return await this.#ask('Lease/LeaseKeepAlive', request, asked, decode, options.signal);
  }

  async revokeLease(id: kv.LeaseId, options: kv.CallOptions = {}): Promise<void> {
    const asked = { what: `revoke lease ${id}`, isRead: false };
    await this.#ask('Lease/LeaseRevoke', adminMessages.encodeLeaseId(id), asked, () => {}, options.signal);
  }

  async leaseInfo(
    id: kv.LeaseId,
    options: { keys?: boolean } & kv.CallOptions = {},
  ): Promise<kv.LeaseInfo | undefined> {
    const asked = { what: `read lease ${id}`, isRead: true };
    const request = adminMessages.encodeLeaseTimeToLive(id, options.keys ?? true);
    return await this.#ask('Lease/LeaseTimeToLive', request, asked, adminMessages.decodeLeaseInfo, options.signal);
  }

  async leases(options: kv.CallOptions = {}): Promise<readonly kv.LeaseId[]> {
    const asked = { what: 'list the leases', isRead: true };
    const { emptyRequest, decodeLeases } = adminMessages;
    return await this.#ask('Lease/LeaseLeases', emptyRequest, asked, decodeLeases, options.signal);
  }

  async status(options: kv.CallOptions = {}): Promise<kv.StoreStatus> {
    const asked = { what: 'read the status of etcd', isRead: true };
    const { emptyRequest, decodeStatus } = adminMessages;
    const status = await this.#ask('Maintenance/Status', emptyRequest, asked, decodeStatus, options.signal);
    const { version, revision, sizeBytes, sizeInUseBytes } = status;
    const problems = status.errors.map((error) => `etcd reports: ${error.trim()}`);
    if (!status.hasLeader && !problems.some((problem) => problem.includes('no leader')))
      problems.push('The etcd member has no leader');
    return { backend: 'etcd', version, revision, sizeBytes, sizeInUseBytes, problems };
  }

  async snapshot(file: string, options: kv.CallOptions = {}): Promise<kv.SnapshotInfo> {
    if (this.#isClosed) throw closedError();
    try {
      return await saveSnapshot(() => this.#bulk.connect(options.signal), file, options.signal);
    } catch (err) {
      throw this.#isClosed ? closedError(err) : toStoreError(err, { what: 'take a snapshot', isRead: true });
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const watch of [...this.#watches]) watch.close(closedError());
    for (const channel of [this.#calls, this.#watching, this.#bulk]) channel.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A watch shows every write that is made after its call, so a write of ours waits for it; not beyond its own time. */
  async #untilWatchesBegin(signal: AbortSignal | undefined): Promise<void> {
    const waiting = new AbortController();
    const unlisten = onAbort(signal, () => waiting.abort(signal?.reason));
    const begun = new Error('All watches have begun');
    void Promise.all(this.#starting).then(() => waiting.abort(begun));
    try {
      signal?.throwIfAborted();
      await this.#calls.sleep(this.#requestTimeoutMs, waiting.signal);
    } catch (err) {
      if (err !== begun) throw err;
    } finally {
      unlisten();
    }
  }

  async #ask<T>(
    method: string,
    request: Uint8Array,
    asked: { what: string; isRead: boolean },
    decode: (bytes: Uint8Array) => T,
    signal: AbortSignal | undefined,
    timeoutMs: number = this.#requestTimeoutMs,
  ): Promise<T> {
    try {
      if (!asked.isRead && this.#starting.size > 0) await this.#untilWatchesBegin(signal);
      const path = `/etcdserverpb.${method}`;
      return decode(await this.#calls.call({ method: path, request, isRead: asked.isRead, timeoutMs, signal }));
    } catch (err) {
      throw toStoreError(err, asked);
    }
  }
}

function versionOf(connection: Connection): Promise<string> {
  connection.version ??= callUnary(connection, '/etcdserverpb.Maintenance/Status', adminMessages.emptyRequest, {
    timeoutMs: 5000,
  }).then(
    (bytes) => adminMessages.decodeStatus(bytes).version,
    (err: unknown) => {
      connection.version = undefined;
      throw err;
    },
  );
  return connection.version;
}

function closedError(cause?: unknown): StoreError {
  return new StoreError('Closed', 'Cannot use the etcd store: it was closed', { cause });
}

function describe(range: kv.KeyRange): string {
  if ('key' in range) return `key ${JSON.stringify(range.key)}`;
  if ('prefix' in range) return `keys with prefix ${JSON.stringify(range.prefix)}`;
  return `keys from ${JSON.stringify(range.start)}`;
}

function describeTxn(txn: kv.Txn): string {
  const op = txn.then?.[0] ?? txn.else?.[0];
  if (op?.kind === 'txn') return describeTxn(op.txn);
  if (!op) return 'run a transaction';
  const more = (txn.then?.length ?? 0) > 1 ? ' and more' : '';
  return `run a transaction (${op.kind} ${describe(op.kind === 'put' ? { key: op.key } : op.range)}${more})`;
}
