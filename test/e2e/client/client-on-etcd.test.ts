/**
 * The client's suites once more, on a real etcd: the same files, whose servers are told to keep their data there, each
 * under a prefix of its own. One that comes back with its data folder comes back with its prefix.
 */
import { afterAll, beforeAll, describe, vi } from 'vitest';
import type { TestServerOptions } from '../../../src/testing/index.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../../support/etcd-server.ts';

const ground = vi.hoisted(() => ({ urls: [] as readonly string[], prefixes: new Map<string, string>(), count: 0 }));

vi.mock('../../../src/testing/index.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../../src/testing/index.ts')>();
  class TestServer extends original.TestServer {
    constructor(options: TestServerOptions) {
      const known = ground.prefixes.get(options.dataDir ?? '');
      const prefix = known ?? `/ground-${ground.count++}`;
      if (options.dataDir !== undefined) ground.prefixes.set(options.dataDir, prefix);
      // A server does not compact an etcd, so who asks for that asks for the embedded store.
      super(options.autoCompaction ? options : { ...options, etcd: { servers: ground.urls, prefix } });
    }
  }
  const startTestServer = async (options: TestServerOptions = {}) => {
    const server = new TestServer(options);
    await server.start();
    return server;
  };
  return { ...original, TestServer, startTestServer };
});

const version = etcdVersion();

describe.skipIf(!version)(`on etcd ${version ?? '(skipped: there is none on the PATH)'}`, async () => {
  let etcd: EtcdCluster | undefined;
  beforeAll(async () => {
    etcd = await startEtcd();
    ground.urls = etcd.urls;
  });
  afterAll(() => etcd?.[Symbol.asyncDispose]());

  describe('resources', () => import('./client-resources.test.ts') as Promise<unknown> as Promise<void>);
  describe('watches', () => import('./client-watch.test.ts') as Promise<unknown> as Promise<void>);
  describe('watches under faults', () => import('./client-faults.test.ts') as Promise<unknown> as Promise<void>);
  describe('informers', () => import('../informer/informer.test.ts') as Promise<unknown> as Promise<void>);
});
