/**
 * Opens the store in the folder it is given and tells its parent what that took. A process of its own, with nothing
 * else loaded, as a server that starts.
 */
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts';
import { measure, type Run } from '../lib/measure.ts';

export type Opening = {
  readonly run: Run;
  readonly keys: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
  /** Before the store was opened: Node and the loaded code. */
  readonly bareRssBytes: number;
};

const dataDir = process.argv[2]!;
const bareRssBytes = process.memoryUsage().rss;
let opened: Awaited<ReturnType<typeof openEmbeddedStore>> | undefined;
const run = await measure(async () => {
  const begin = performance.now();
  opened = await openEmbeddedStore({ dataDir });
  return { operations: 1, latenciesMs: [performance.now() - begin] };
});
const { count: keys } = await opened!.range({ prefix: '/' }, { countOnly: true });
const rssBytes = process.memoryUsage().rss;
globalThis.gc?.();
const heapBytes = process.memoryUsage().heapUsed;
await opened!.close();
process.send!({ run, keys, heapBytes, rssBytes, bareRssBytes } satisfies Opening);
