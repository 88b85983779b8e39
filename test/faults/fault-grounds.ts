/**
 * Where a fault schedule takes place: a server, a line before it that misbehaves when told, clients behind that line, and
 * a clock. With a real server there are sockets and TLS, and the clock runs ahead of the machine's; in a simulated world
 * there is neither, and everything that happens follows from the seed.
 */
import type { Clock } from '../../src/api/index.ts';
import { KubeClient, KubeConfig, type TransportOptions } from '../../src/client/index.ts';
import { type FaultProxy, startFaultProxy } from '../../src/testing/index.ts';
import { HurriedClock } from './fault-clock.ts';
import type { FaultServer } from './fault-servers.ts';

export type FaultLine = Pick<
  FaultProxy,
  'cut' | 'stall' | 'end' | 'truncate' | 'garble' | 'sendError' | 'answer' | 'delay' | 'drip' | 'refuse' | 'heal'
> &
  Pick<FaultProxy, 'requests' | 'open' | 'connections'>;

/** What only a simulated world knows, and can do. */
export type Truth = {
  /** Uid and version by key, as the server has them at this moment; of those with a label, such as `tier=gold`. */
  objects(label?: string): ReadonlyMap<string, string>;
  /** When this client was last answered well about leases. */
  leaseSeenAt(userAgent: string): number | undefined;
  /** False if a server that was set back cannot be told from one that was not, but by looking at everything. */
  readonly isSetBackVisible: boolean;
  flip(isCut: boolean): Promise<void>;
  settle(): void;
  rotateToken(): void;
  suspend(ms: number): void;
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
  readonly truth?: Truth;
  connect(userAgent: string, options?: TransportOptions): Promise<KubeClient>;
  /** Lets a little time pass, before it is looked for something for the so-manyth time. */
  pause(looks: number): Promise<void>;
};

/** Fast enough that nobody waits for limits, slow enough that a busy machine does not run into them. */
const SPEED = 10;

export async function realGrounds(server: FaultServer, random: () => number): Promise<Grounds> {
  const proxy = await startFaultProxy(server);
  const clock = new HurriedClock(SPEED);
  return {
    ...{ server, line: proxy, clock, random, settleMs: 60_000 * SPEED, waitFactor: SPEED, patience: 1 },
    async connect(userAgent, options) {
      const access = (await KubeConfig.load({ paths: [proxy.kubeconfigPath] })).access({ env: {} });
      return new KubeClient(access, { clock, random, userAgent, ...options });
    },
    pause: () => new Promise((resolve) => setTimeout(resolve, 2)),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}
