/**
 * A process that counts what it holds, for memory.test.ts: a server on a folder. One order at a time, one answer to each.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningServer, startServer } from '../../../../src/server/index.ts';
import { openEmbeddedStore } from '../../../../src/store/embedded/embedded-store.ts';

export type MemoryOrder =
  | { readonly kind: 'start'; readonly dataDir: string }
  | { readonly kind: 'stop' }
  /** Puts so many pods into the store of a folder that nobody serves. */
  | { readonly kind: 'fill'; readonly dataDir: string; readonly pods: readonly string[] }
  | { readonly kind: 'count' };

export type MemoryAnswer = { readonly port?: number; readonly bytes?: number };

let server: RunningServer | undefined;

const answers: { readonly [Kind in MemoryOrder['kind']]: (order: never) => Promise<MemoryAnswer> } = {
  async start({ dataDir }: Extract<MemoryOrder, { kind: 'start' }>) {
    server = await startServer({ dataDir, securePort: 0, durability: 'none', log: () => {} });
    return { port: Number(new URL(server.url).port) };
  },
  async stop() {
    await server?.close();
    server = undefined;
    return {};
  },
  async fill({ dataDir, pods }: Extract<MemoryOrder, { kind: 'fill' }>) {
    await using store = await openEmbeddedStore({ dataDir: join(dataDir, 'store'), durability: 'none' });
    const put = (pod: string, i: number) => {
      const key = `/registry/pods/default/pod-${String(i).padStart(5, '0')}`;
      return store.txn({ then: [{ kind: 'put', key, value: Buffer.from(pod) }] });
    };
    await Promise.all(pods.map(put));
    return {};
  },
  /** Buffers are given back beside the collection, and only the next one knows. */
  async count() {
    for (let i = 0; i < 3; i++) {
      globalThis.gc!();
      await sleep(10);
    }
    const { heapUsed, external } = process.memoryUsage();
    return { bytes: heapUsed + external };
  },
};

process.on('message', (order: MemoryOrder) => {
  answers[order.kind](order as never).then(
    (answer) => process.send!(answer),
    (err: unknown) => {
      console.error(err);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.send!({});
