/** What the owner gives a worker on its way, and the names of what they ask each other (thread-line.ts). */
import type { MessagePort } from 'node:worker_threads';
import type { ServerOptions } from '../server-options.ts';

/** Told by the owner when all is there that a worker stands on. */
export type StartOrder = {
  /** Without what cannot cross to another thread: the log, a clock. */
  readonly options: ServerOptions;
  readonly number: number;
  readonly sharedBy: number;
  readonly secret: Uint8Array;
  /** Where the store can be asked. */
  readonly store: MessagePort;
  /** The bound socket, of the owner's. */
  readonly fd: number;
  readonly port: number;
};

/** Asked of a worker. `start` is answered when it serves, `stop` when it has stopped. */
export const ASKED_OF_WORKER = {
  start: 'start',
  stop: 'stop',
  reload: 'reload',
  metrics: 'metrics',
  watches: 'watches',
  expirations: 'expirations',
  endWatch: 'endWatch',
} as const;

/** Asked of the owner. */
export const ASKED_OF_OWNER = {
  metrics: 'metrics',
  watches: 'watches',
  expirations: 'expirations',
  endWatch: 'endWatch',
  log: 'log',
  audit: 'audit',
} as const;
