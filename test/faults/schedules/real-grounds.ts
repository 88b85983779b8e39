/** The place of a fault schedule with a real server: sockets, TLS, and a clock that runs ahead of the machine's. */
import { KubeClient, KubeConfig } from '../../../src/client/index.ts';
import { startFaultProxy } from '../../../src/testing/index.ts';
import { HurriedClock } from '../../support/hurried-clock.ts';
import type { Grounds } from './fault-grounds.ts';
import type { FaultServer } from './fault-servers.ts';

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
