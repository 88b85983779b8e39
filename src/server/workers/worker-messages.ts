/** What the owner gives a worker on its way, and the names of what they ask each other (thread-line.ts). */
import type { MessagePort } from 'node:worker_threads';
import type { Clock } from '../../api/clock.ts';
import type { ServerOptions } from '../server-options.ts';

/** Options that are no data, and so cannot be sent to another thread. */
type Staying = {
  [K in keyof ServerOptions]-?: NonNullable<ServerOptions[K]> extends Clock | ((...given: never[]) => unknown)
    ? K
    : never;
}[keyof ServerOptions];

/** Who has them: a new option of that sort fails to compile here. Workers send log lines to the owner. */
const STAYING: Readonly<Record<Staying, 'owner'>> = { log: 'owner', openStore: 'owner', shutdownClock: 'owner' };

export type CrossingOptions = Omit<ServerOptions, Staying>;

/** The options as they are sent to a worker. */
export function crossing(options: ServerOptions): CrossingOptions {
  const entries = Object.entries(options).filter(([name]) => !Object.hasOwn(STAYING, name));
  return Object.fromEntries(entries) as CrossingOptions;
}

/** Told by the owner when all is there that a worker stands on. */
export type StartOrder = {
  readonly options: CrossingOptions;
  readonly number: number;
  /** Of the seat table, which of its threads this one is, and of how many. */
  readonly seats: SharedArrayBuffer;
  readonly seat: number;
  readonly threads: number;
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
