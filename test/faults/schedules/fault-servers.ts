/**
 * Servers for fault schedules, each able to come back: with its data, without its history, without its data, or set back
 * to a backup. In this process, where a restart takes milliseconds, or as `longwatch serve`, which is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  isStoreError,
  openEmbeddedStore,
  openEtcdStore,
  restoreEmbeddedStore,
  type Store,
} from '../../../src/store/index.ts';
import { ApiClient, credentialsOf, type FaultTarget, TestServer } from '../../../src/testing/index.ts';
import { type EtcdCluster, startEtcd } from '../../support/etcd-server.ts';
import type { Abilities } from './fault-schedule.ts';

export type FaultServer = FaultTarget &
  AsyncDisposable & {
    readonly abilities: Abilities;
    /** The administrator, past every proxy; another one after each restart. */
    readonly client: ApiClient;
    restart(): Promise<void>;
    /** `whileDown` is told the version of the oldest change that is kept, which is the last. */
    compact(whileDown: (oldest: string) => void): Promise<void>;
    /** `isOvertaking`: the new history is ahead of the old one before anybody is served. */
    lose(isOvertaking: boolean): Promise<void>;
    backUp(): Promise<void>;
    setBack(bump: number): Promise<void>;
  };

/** What brings a server up and down; the storage below it is not its business. */
type Engine = {
  readonly url: string;
  readonly client: ApiClient;
  start(etcdUrls: readonly string[] | undefined): Promise<void>;
  stop(): Promise<void>;
};

export async function serverInProcess(on: 'embedded' | 'etcd'): Promise<FaultServer> {
  return serverOf(on, (dataDir) => {
    let server: TestServer | undefined;
    const running = () => {
      if (!server) throw new Error('Cannot reach the server: it is stopped');
      return server;
    };
    return {
      get url() {
        return running().url;
      },
      get client() {
        return running().client;
      },
      async start(servers) {
        server = new TestServer({ dataDir, ...(servers && { etcd: { servers } }) });
        await server.start();
      },
      async stop() {
        await server?.[Symbol.asyncDispose]();
        server = undefined;
      },
    };
  });
}

export async function serverAsProcess(on: 'embedded' | 'etcd'): Promise<FaultServer> {
  return serverOf(on, (dataDir) => {
    let running: { readonly child: ChildProcess; readonly url: string; readonly client: ApiClient } | undefined;
    const current = () => {
      if (!running) throw new Error('Cannot reach the server: it is stopped');
      return running;
    };
    return {
      get url() {
        return current().url;
      },
      get client() {
        return current().client;
      },
      async start(servers) {
        const child = spawnServe(dataDir, servers);
        const url = await readyUrl(child);
        const client = new ApiClient({ url, ...credentialsOf(dataDir, join(dataDir, 'admin.kubeconfig')) });
        running = { child, url, client };
      },
      async stop() {
        if (!running) return;
        const { child, client } = running;
        running = undefined;
        client.close();
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      },
    };
  });
}

function spawnServe(dataDir: string, etcdUrls: readonly string[] | undefined): ChildProcess {
  const program = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
  const bare = '--controllers=-*'; // whose own requests and objects would be in the way
  const flags = [
    '--data-dir',
    dataDir,
    '--secure-port',
    '0',
    bare,
    ...(etcdUrls ? ['--etcd-servers', etcdUrls.join()] : []),
  ];
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  return spawn(process.execPath, ['--import', 'tsx', program, 'serve', ...flags], { stdio: [...stdio] });
}

async function readyUrl(child: ChildProcess): Promise<string> {
  const [line] = (await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])) as [Buffer | number | null];
  const url = Buffer.isBuffer(line) ? /longwatch ready (\S+)/.exec(line.toString())?.[1] : undefined;
  if (!url) throw new Error(`Cannot start the server: ${line}`);
  return url;
}

async function serverOf(on: 'embedded' | 'etcd', makeEngine: (dataDir: string) => Engine): Promise<FaultServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'longwatch-schedules-'));
  const engine = makeEngine(dataDir);
  const storeDir = join(dataDir, 'store');
  const backup = join(dataDir, 'backup');
  let etcd: EtcdCluster | undefined = on === 'etcd' ? await startEtcd() : undefined;
  const start = () => engine.start(etcd?.urls);
  /** While the server is stopped. */
  const withStore = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const off = { mode: 'off' } as const;
    const store = etcd
      ? await openEtcdStore({ endpoints: [...etcd.urls] })
      : await openEmbeddedStore({ dataDir: storeDir, durability: 'none', autoCompaction: off });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  await start();
  return {
    dataDir,
    abilities: { loses: true, isSetBack: on === 'embedded', isSimulated: false },
    get url() {
      return engine.url;
    },
    get client() {
      return engine.client;
    },
    async restart() {
      await engine.stop();
      await start();
    },
    async compact(whileDown) {
      await engine.stop();
      const revision = await withStore(async (store) => {
        const last = await store.revision();
        await store.compact(last).catch((err) => {
          if (!isStoreError(err, 'Compacted')) throw err;
        });
        return last;
      });
      whileDown(String(revision));
      await start();
    },
    async lose(isOvertaking) {
      await engine.stop();
      const last = await withStore((store) => store.revision());
      rmSync(storeDir, { recursive: true, force: true });
      await etcd?.[Symbol.asyncDispose]();
      etcd = etcd && (await startEtcd());
      if (isOvertaking) await withStore((store) => writeBeyond(store, last));
      await start();
    },
    async backUp() {
      await engine.stop();
      rmSync(backup, { force: true });
      await withStore((store) => store.snapshot(backup));
      await start();
    },
    async setBack(bump) {
      await engine.stop();
      rmSync(storeDir, { recursive: true, force: true });
      await restoreEmbeddedStore(backup, storeDir, { bumpRevisionBy: bump });
      await start();
    },
    async [Symbol.asyncDispose]() {
      await engine.stop();
      await etcd?.[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Far from what the server keeps there. */
async function writeBeyond(store: Store, revision: number): Promise<void> {
  const put = { kind: 'put', key: '/elsewhere', value: Buffer.from('x') } as const;
  while ((await store.revision()) <= revision + 10)
    await Promise.all(Array.from({ length: 20 }, () => store.txn({ then: [put] })));
}
