/**
 * The two stores that are compared, each with fresh data in a folder of its own: the embedded one in this process,
 * with a flush before every answer, and a real etcd, which flushes too, through the etcd backend. Without an etcd on
 * the PATH the embedded store runs alone.
 *
 * When the signal fires the stores are closed, so whatever waits for them ends and the benchmark unwinds.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import type { Store } from '../../src/store/index.ts';
import { type EtcdCluster, startEtcd } from '../../test/support/etcd-server.ts';
import type { Row } from './report.ts';

export type Context = {
  readonly isQuick: boolean;
  /** Those that are small by default are to be as large as they can. */
  readonly isWhole: boolean;
  /** Of the cluster that is played, where somebody says. */
  readonly size: { readonly nodes: number | undefined; readonly seconds: number | undefined };
  readonly hasEtcd: boolean;
  /** For data; removed by whoever made it. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Tells whoever waits what is going on. */
  readonly say: (text: string) => void;
};

export type Benchmark = { readonly name: string; readonly run: (context: Context) => Promise<Row[]> };

export type ContenderName = 'embedded' | 'etcd';

export type Contenders = AsyncDisposable & {
  readonly names: readonly ContenderName[];
  readonly store: (name: ContenderName) => Store;
};

export async function openContenders(context: Context): Promise<Contenders> {
  const stores = new Map<ContenderName, Store>();
  let cluster: EtcdCluster | undefined;
  const close = async () => {
    await Promise.all([...stores.values()].map((store) => store.close()));
    await cluster?.[Symbol.asyncDispose]();
  };
  try {
    stores.set('embedded', await openEmbedded(context));
    if (context.hasEtcd) {
      cluster = await startEtcd();
      stores.set('etcd', closeOnAbort(await openEtcdStore({ endpoints: cluster.urls }), context.signal));
    }
  } catch (err) {
    await close();
    throw err;
  }
  return { names: [...stores.keys()], store: (name) => stores.get(name)!, [Symbol.asyncDispose]: close };
}

/** Nothing is compacted unless the benchmark says so. */
export async function openEmbedded({ folder, signal }: Context): Promise<Store> {
  const dataDir = mkdtempSync(join(folder, 'store-'));
  return closeOnAbort(await openEmbeddedStore({ dataDir, autoCompaction: { mode: 'off' } }), signal);
}

function closeOnAbort(store: Store, signal: AbortSignal): Store {
  signal.addEventListener('abort', () => void store.close(), { once: true });
  if (signal.aborted) void store.close();
  return store;
}
