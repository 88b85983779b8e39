/** What the owner tells the thread of the etcd front, and who may use it (etcd-front-owner.ts, etcd-front-thread.ts). */
import type { MessagePort } from 'node:worker_threads';
import type { EtcdFrontTls } from '../../store/index.ts';

export type FrontCertificates = Omit<EtcdFrontTls, 'mayUse'>;

export type FrontOrder = {
  readonly urls: readonly string[];
  readonly tls: FrontCertificates;
  /** Where the store can be asked. */
  readonly store: MessagePort;
};

/** What becomes of an order: addresses with the ports that were picked, or why there are none. */
export type FrontStarted =
  | { readonly urls: readonly string[] }
  | { readonly message: string; readonly cause: Partial<NodeJS.ErrnoException & { address: string; port: number }> };

export const ASKED_OF_FRONT = { start: 'start', setTls: 'setTls', stop: 'stop' } as const;

/** Clients of the front reach the store past all rules, so only those who may do everything anyway are let in. */
export function mayUse(organisations: readonly string[]): boolean {
  return organisations.includes('system:masters');
}
