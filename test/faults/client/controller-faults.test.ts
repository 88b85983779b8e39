/** Controllers while servers and networks fail: once it is quiet the world is as wished, and two never lead at once. */
import { expect, it } from 'vitest';
import { type KubeClient, mergePatch } from '../../../src/client/index.ts';
import { Manager } from '../../../src/controller/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import {
  copiesAndWishes,
  fast,
  installWebsites,
  websiteController,
  websites,
} from '../../support/client/controller-under-test.ts';
import { startTcpProxyTo, type TcpProxy } from '../../support/tcp-proxy.ts';

const timeouts = { connectMs: 1000, headersMs: 500, idleMs: 500 };
const informers = { reflector: { backoff: { minMs: 1, maxMs: 20 }, idleTimeoutMs: 300 } };
const election = { name: 'boss', leaseDurationMs: 1500, renewDeadlineMs: 1000, retryMs: 50 };

type Candidate = AsyncDisposable & { readonly manager: Manager; readonly proxy: TcpProxy; reconciles: number };

/** One of several processes, so to speak: a manager with a network of its own. */
async function candidate(server: TestServer, identity: string, onReconcile: () => void): Promise<Candidate> {
  const proxy = await startTcpProxyTo(server);
  const client = await adminThrough(server, proxy.port, { timeouts });
  const self = { reconciles: 0 };
  const manager = new Manager({
    ...{ client, ...fast, informers, election: { ...election, identity }, graceMs: 500, abortGraceMs: 500 },
    observer: {
      onReconcile: () => {
        self.reconciles++;
        onReconcile();
      },
    },
  });
  manager.add(websiteController({ ownWritesTimeoutMs: 200 }));
  manager.start();
  return {
    ...{ manager, proxy },
    get reconciles() {
      return self.reconciles;
    },
    async [Symbol.asyncDispose]() {
      for (const one of [manager, client, proxy]) await one[Symbol.asyncDispose]();
    },
  };
}

async function write(client: KubeClient, round: number): Promise<void> {
  const sites = client.resource(websites);
  for (let n = 0; n < 5; n++) {
    const spec = { copies: (round + n) % 4, text: `${round}.${n}` };
    const name = `site-${n}`;
    if (!(await sites.find(name))) await sites.create({ metadata: { name }, spec });
    else if ((round + n) % 5 === 0) await sites.delete(name);
    else await sites.patch(name, mergePatch({ spec }));
  }
}

it('servers restart, networks break, leaders change: the world comes out as wished, and nobody leads beside another', {
  timeout: 60_000,
}, async () => {
  await using server = await startTestServer();
  {
    await using admin = await adminOf(server);
    await installWebsites(admin);
  }
  const both: string[] = [];
  const all: Candidate[] = [];
  const check = () => {
    const leaders = all.filter(({ manager }) => manager.elector?.isLeading());
    if (leaders.length > 1) both.push(leaders.map(({ manager }) => manager.elector!.identity).join());
  };
  const watching = async (holds: () => boolean | Promise<boolean>) =>
    until(async () => {
      check();
      return await holds();
    });
  await using a = await candidate(server, 'a', check);
  await using b = await candidate(server, 'b', check);
  all.push(a, b);
  const leader = () => all.find(({ manager }) => manager.elector?.isLeading());
  const settled = async () => {
    await using admin = await adminOf(server);
    await watching(async () => {
      const { found, wanted } = await copiesAndWishes(admin);
      const going = (await admin.resource(websites).list()).items.some(({ metadata }) => metadata.deletionTimestamp);
      return !going && found.join() === wanted.join();
    });
  };
  for (let round = 0; round < 4; round++) {
    await watching(() => leader() !== undefined);
    const before = leader()!;
    const writing = (async () => {
      await using admin = await adminOf(server);
      await write(admin, round);
    })();
    if (round % 3 === 0) {
      await writing;
      await server.restart();
    } else if (round % 3 === 1) {
      before.proxy.refuses = true; // the leader is cut off until another leads
      before.proxy.cut();
      await writing;
      await watching(() => leader() !== undefined && leader() !== before);
      before.proxy.refuses = false;
    } else {
      for (const { proxy } of all) proxy.stall();
      await writing;
    }
    await settled();
  }
  expect(both).toEqual([]);
  expect(all.map(({ reconciles }) => reconciles > 0)).toEqual([true, true]);
  await watching(() => all.every(({ manager }) => manager.health().isReady));
  await settled();
});
