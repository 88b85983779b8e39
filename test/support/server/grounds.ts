/**
 * What servers under test stand on: the embedded store, and a real etcd where there is one. Each offers what truly
 * happened, read from the store itself, to hold a watch against.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import type { KubeObject } from '../../../src/api/index.ts';
import { openEmbeddedStore, openEtcdStore, type Store } from '../../../src/store/index.ts';
import {
  type StreamEvent,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../../src/testing/index.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../etcd-server.ts';
import { readThrough } from '../store/watching.ts';

export type Ground = {
  readonly name: 'embedded' | 'etcd';
  /** A server on storage of its own. */
  open(options?: TestServerOptions): Promise<TestServer>;
  /** The store under a server; the embedded one has a single owner, so its server is stopped for it. */
  storeOf(server: TestServer): Promise<Store>;
  rootOf(server: TestServer): string;
};

const embedded: Ground = {
  name: 'embedded',
  open: startTestServer,
  storeOf: async (server) => {
    await server.stop();
    const off = { mode: 'off' } as const;
    return openEmbeddedStore({ dataDir: join(server.dataDir, 'store'), durability: 'none', autoCompaction: off });
  },
  rootOf: () => '/registry',
};

/** The same tests on every ground; those on etcd are skipped, for all to see, where there is none. */
export function onEveryGround(tests: (ground: Ground) => void): void {
  describe('on the embedded store', () => tests(embedded));
  onEtcd(tests);
}

/** `progressEvery`: how often etcd speaks of progress by itself. */
export function onEtcd(tests: (ground: Ground & { etcd(): EtcdCluster }) => void, progressEvery = '100ms'): void {
  const version = etcdVersion();
  const isOld = /^3\.[0-5]\./.test(version ?? '');
  const flags = [`--${isOld ? 'experimental-' : ''}watch-progress-notify-interval=${progressEvery}`];
  describe.skipIf(!version)(`on etcd ${version ?? '(skipped: there is none on the PATH)'}`, () => {
    let etcd: EtcdCluster | undefined;
    const roots = new WeakMap<TestServer, string>();
    let count = 0;
    beforeAll(async () => {
      etcd = await startEtcd({ flags });
    });
    afterAll(() => etcd?.[Symbol.asyncDispose]());
    tests({
      name: 'etcd',
      etcd: () => etcd!,
      async open(options = {}) {
        const prefix = options.etcd?.prefix ?? `/ground-${count++}`;
        const server = await startTestServer({ ...options, etcd: { servers: etcd!.urls, prefix } });
        roots.set(server, prefix);
        return server;
      },
      storeOf: () => openEtcdStore({ endpoints: [...etcd!.urls] }),
      rootOf: (server) => roots.get(server)!,
    });
  });
}

export type Change = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** `namespace/name` or `name`. */
  readonly key: string;
  readonly revision: number;
  /** What it is after the change. */
  readonly object: KubeObject | undefined;
};

/** Every change of a resource after a revision, as the store tells it. */
export async function changesOf(ground: Ground, server: TestServer, plural: string, after: string): Promise<Change[]> {
  const root = ground.rootOf(server);
  const store = await ground.storeOf(server);
  try {
    const prefix = `${root}/${plural}/`;
    await using watch = store.watch({ prefix }, { fromRevision: Number(after) + 1, progress: true });
    const batches = await readThrough(watch, await store.revision());
    return batches.flatMap(({ events }) =>
      events.map(({ type, kv }) => ({
        type: type === 'delete' ? 'DELETED' : kv.version === 1 ? 'ADDED' : 'MODIFIED',
        key: kv.key.slice(prefix.length),
        revision: kv.modRevision,
        object: type === 'delete' ? undefined : (JSON.parse(Buffer.from(kv.value).toString('utf8')) as KubeObject),
      })),
    );
  } finally {
    await store.close();
  }
}

/** The same in the words of `told`. */
export async function truth(ground: Ground, server: TestServer, plural: string, after: string): Promise<string[]> {
  const changes = await changesOf(ground, server, plural, after);
  return changes.map(({ type, key, revision, object }) =>
    object ? `${type} ${key} ${revision} ${dataOf(object)}` : `${type} ${key} ${revision}`,
  );
}

/** An event of a watch in one line; a delete without what the object held. */
export function told({ type, object }: StreamEvent): string {
  const { namespace, name, resourceVersion } = object.metadata;
  const line = `${type} ${namespace}/${name} ${resourceVersion}`;
  return type === 'DELETED' ? line : `${line} ${dataOf(object)}`;
}

/** `data.value` of a ConfigMap, by which a test tells its states apart. */
export function dataOf({ data }: KubeObject): string {
  return (data as { value?: string } | undefined)?.value ?? '';
}
