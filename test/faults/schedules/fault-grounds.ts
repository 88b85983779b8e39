/**
 * Where a fault schedule takes place: a server, a line before it that misbehaves when told, clients behind that line, and
 * a clock. With a real server there are sockets and TLS, and the clock runs ahead of the machine's; in a simulated world
 * there is neither, and everything that happens follows from the seed.
 */
import type { Clock } from '../../../src/api/index.ts';
import type { KubeClient, TransportOptions } from '../../../src/client/index.ts';
import type { FaultProxy } from '../../../src/testing/index.ts';
import type { FaultServer } from './fault-servers.ts';
import type { SimDisk } from './sim/sim-files.ts';

export type FaultLine = Pick<
  FaultProxy,
  'cut' | 'stall' | 'end' | 'truncate' | 'garble' | 'sendError' | 'answer' | 'delay' | 'drip' | 'refuse' | 'heal'
> &
  Pick<FaultProxy, 'requests' | 'open' | 'connections'>;

/** What only a simulated world knows, and can do. */
export type Truth = {
  /** Uid and version by key, as the server has them at this moment; of those with a label, such as `tier=gold`. */
  objects(label?: string): ReadonlyMap<string, string>;
  /** The time without that in which the machine slept. */
  awake(): number;
  /** When this client was last answered well about leases, by that time. */
  leaseSeenAt(userAgent: string): number | undefined;
  /** False if a server that was set back cannot be told from one that was not, but by looking at everything. */
  readonly isSetBackVisible: boolean;
  /** Else a quiet kind comes forward by nothing but fetching it, which audits do. */
  readonly sendsBookmarks: boolean;
  flip(isCut: boolean): Promise<void>;
  settle(): void;
  rotateToken(): void;
  suspend(ms: number): void;
  /** The date that everybody is told who has no clock of their own. */
  setWallClock(ms: number): void;
  /** Where checkpoints are kept. */
  readonly disk: SimDisk;
};

export type Grounds = AsyncDisposable & {
  readonly server: FaultServer;
  readonly line: FaultLine;
  readonly clock: Clock & { readonly sleeping: number };
  readonly random: () => number;
  /** How long it may take, by the clock, until all is well after the last fault. */
  readonly settleMs: number;
  /** A wait of a schedule is so many times as long. */
  readonly waitFactor: number;
  /** Informers wait so many times five seconds before silence is death, and the like: 15 is as in earnest. */
  readonly patience: number;
  /** How often informers are held against the server; as often as usual without it. */
  readonly auditMs?: number;
  readonly truth?: Truth;
  connect(userAgent: string, options?: TransportOptions): Promise<KubeClient>;
  /** Lets a little time pass, before it is looked for something for the so-manyth time. */
  pause(looks: number): Promise<void>;
};
