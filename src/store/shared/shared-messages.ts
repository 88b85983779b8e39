/**
 * What the owner of a store and a thread that uses it say to each other: lists of orders one way, lists of reports the
 * other: what comes up first in a turn of the loop, and one list for the rest of it, or two where a write is answered meanwhile.
 *
 *   call · cancel                          ─►   answer · part of an answer · failed
 *   arrived                                     what was counted on its way is here
 *   watch · took · progress · leave        ─►   started · batch · ended
 *   beside                                ◄─►   beside: whatever else the two threads have to say, in the same order
 *
 * Always true: messages of one port arrive in the order they were posted, so a call that was made after another answer
 * came is judged after it. Ids are the client's, used once. Values that the owner sends are views of shared memory
 * (shared-values.ts); those that it is sent are handed over with their memory.
 */
import { isStoreError, StoreError, type StoreErrorCode } from '../errors.ts';
import type { KeyRange, KeyValue, Revision, WatchBatch, WatchOptions } from '../kv.ts';

/** Calls that are a question and its answer; their last argument, if any, are options without a signal. */
export type CallName =
  | 'get'
  | 'range'
  | 'txn'
  | 'revision'
  | 'compact'
  | 'grantLease'
  | 'keepLeaseAlive'
  | 'revokeLease'
  | 'leaseInfo'
  | 'leases'
  | 'status'
  | 'snapshot';

export type Order =
  | {
      readonly kind: 'call';
      readonly id: number;
      readonly name: CallName;
      readonly args: readonly unknown[];
      /** Whoever asked may give it up. */
      readonly mayCancel: boolean;
    }
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'arrived'; readonly bytes: number }
  | {
      readonly kind: 'watch';
      readonly id: number;
      readonly range: KeyRange;
      readonly options: Omit<WatchOptions, 'signal'>;
    }
  /** The reader has taken so much of what was sent: there is room for as much again. */
  | { readonly kind: 'took'; readonly id: number; readonly weight: number }
  | { readonly kind: 'progress'; readonly id: number }
  | { readonly kind: 'leave'; readonly id: number }
  | Beside;

export type Report =
  /** `counted`: the bytes of a range whose reader claims memory, until it says that they have arrived. */
  | { readonly kind: 'answer'; readonly id: number; readonly result: unknown; readonly counted?: number }
  /** Pairs of a long range, ahead of the answer that has the rest of them. */
  | { readonly kind: 'part'; readonly id: number; readonly kvs: readonly KeyValue[] }
  | { readonly kind: 'failed'; readonly id: number; readonly error: ToldError }
  | { readonly kind: 'started'; readonly id: number; readonly revision: Revision }
  | {
      readonly kind: 'batch';
      readonly id: number;
      readonly batch: WatchBatch;
      readonly weight: number;
      readonly answersProgress: boolean | undefined;
    }
  | { readonly kind: 'ended'; readonly id: number; readonly error: ToldError | undefined }
  | Beside;

export type Beside = { readonly kind: 'beside'; readonly message: unknown };

/**
 * A line for others on the port of a shared store: what is posted in one turn arrives with what the store said in that turn,
 * before it or after it as it was said.
 */
export interface SideLine {
  post(message: unknown): void;
  /** One listener; `onEnd` when the port closes. */
  listen(onMessage: (message: unknown) => void, onEnd: () => void): void;
}

/** What a client is told when it comes. */
export type Greeting = {
  readonly history: { readonly name: string; readonly ends: ReadonlyMap<string, Revision> } | undefined;
  readonly maxPutBytes: number | undefined;
};

/** An error as it crosses to another thread: a StoreError stays one, with all that callers branch on. */
export type ToldError = {
  readonly message: string;
  readonly stack: string | undefined;
  readonly store?: {
    readonly code: StoreErrorCode;
    readonly compactRevision: Revision | undefined;
    readonly currentRevision: Revision | undefined;
  };
};

export function tellError(err: unknown): ToldError {
  if (!(err instanceof Error)) return { message: String(err), stack: undefined };
  const { message, stack } = err;
  if (!isStoreError(err)) return { message, stack };
  const { code, compactRevision, currentRevision } = err;
  return { message, stack, store: { code, compactRevision, currentRevision } };
}

export function heardError({ message, stack, store }: ToldError): Error {
  const { code, compactRevision, currentRevision } = store ?? {};
  const error = code
    ? new StoreError(code, message, {
        ...(compactRevision !== undefined && { compactRevision }),
        ...(currentRevision !== undefined && { currentRevision }),
      })
    : new Error(message);
  if (stack !== undefined) error.stack = stack; // where it was thrown, not where it was told
  return error;
}

/** What a batch counts against the room of its reader: its values, and something for each event. */
export function weightOf({ events }: WatchBatch): number {
  let weight = 0;
  for (const { kv, prevKv } of events)
    weight += EVENT_WEIGHT + kv.key.length + kv.value.length + (prevKv?.value.length ?? 0);
  return weight;
}

const EVENT_WEIGHT = 200;

/** What all ranges of a thread whose readers claim memory may have on their way to it; beyond it is refused. */
export const RANGES_ROOM: number = 512 * 1024 * 1024;

/** What may be on its way to the reader of one watch, or wait for it; a batch that is larger goes alone. */
export const WATCH_ROOM: number = 4 * 1024 * 1024;
