/**
 * Where in a server a thread stands. A server of one thread is `ALONE`; with workers there is one owner, which has the store
 * and does what is done once, and workers, which serve (docs/workers.md).
 *
 *   once, by the owner     the store, its compaction and leases · what every server has from the start · controllers ·
 *                          the identity lease, the server's own Service · certificates and kubeconfig · the audit log's
 *                          file, the log · the port
 *   in a thread of its own the etcd front (etcd-front-owner.ts)
 *   by every thread        watch caches, registry, rights, admission, flow control and budgets of memory on seats and bytes that all
 *                          count together, certificates read again
 *   for all by any         metrics, the lists of open watches and of 410s
 *
 * Always true: nothing that a thread keeps in memory is the truth; that is the store. Threads are to each other as several
 * servers on one store are.
 */

import type { KubeObject } from '../../api/index.ts';
import type { SideLine, Store } from '../../store/index.ts';
import type { PortShare } from './port/port-share.ts';
import type { SeatTable } from './seat-table.ts';

export type Place = {
  /** 0: alone, or the owner. Never the same for two workers of a server, also when one takes another's place. */
  readonly number: number;
  /** Whether it does what a server does once. */
  readonly isOwner: boolean;
  /** The store, where another thread has it. */
  readonly store?: Store;
  /** To that thread, for what its caches hold. */
  readonly beside?: SideLine;
  /** What clients connect to: a port of its own, or one that was bound before. */
  readonly listening: Listening;
  /** Where the seats and bytes of all threads are counted; undefined: this thread has them all. */
  readonly seats?: SeatTable;
  /** What all threads of the server have, and nobody else; made by a thread that is alone. */
  readonly secret?: Uint8Array;
  /** What is asked of the server as a whole; undefined: this thread is the whole. */
  readonly whole?: Whole;
  /** Where lines of the audit log go, if another thread has the file. */
  readonly audit?: (line: string) => void;
};

export type Listening =
  | { readonly kind: 'own' }
  | {
      readonly kind: 'handle';
      readonly handle: object;
      readonly port: number;
      /** With whom its connections are shared out. */
      readonly share?: PortShare | undefined;
    };

export const SECRET_BYTES = 32;

export const ALONE: Place = { number: 0, isOwner: true, listening: { kind: 'own' } };

/** Something a thread knows as an object, and what makes a change of it news: see LiveItem. */
export type Shown = { readonly object: KubeObject; readonly news?: string };

/** What one thread tells of itself. */
export type Inside = {
  readonly store: Store;
  /** Tells another thread on this line what the caches hold. */
  serveFeed(line: SideLine): void;
  /** Lets the other threads have the port. */
  yieldPort(): void;
  metricsText(): Promise<string>;
  watches(): readonly Shown[];
  expirations(): readonly Shown[];
  /** False: none of that name is here. */
  endWatch(name: string): boolean;
};

/** The same of all threads. */
export type Whole = {
  metricsText(): Promise<string>;
  watches(): Promise<readonly Shown[]>;
  expirations(): Promise<readonly Shown[]>;
  endWatch(name: string): Promise<boolean>;
};

/** A name that no other thread of the server gives: `pods-12` is `pods-12-w3` of the third worker. */
export function nameOn(worker: number, name: string): string {
  return worker === 0 ? name : `${name}-w${worker}`;
}
