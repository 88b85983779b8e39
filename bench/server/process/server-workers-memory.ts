/**
 * What an object costs for each worker above the bytes that all threads share: by how much more a server of three workers
 * grows with its pods than one of one worker, for two workers and each pod. Every worker has filled its cache before.
 *
 * Garbage that a worker has not collected is in the figure: nobody can ask it to.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backgroundClock } from '../../../src/api/index.ts';
import { Registry } from '../../../src/server/registry/registry.ts';
import { openFollowed } from '../../../src/server/storage/feed/followed-storages.testing.ts';
import type { ResourceStorages } from '../../../src/server/storage/resource-storages.ts';
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { Client } from '../load/server-client.ts';
import { endpointOf, GROUPS, PODS, preparePods } from '../load/server-data.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverWorkersMemory: ServerBenchmark = { name: 'server-workers-memory', run };

const BYTES_PER_WORKER = 400;
const FEW = 1;
const MORE = 3;
const REST_MS = 2000;
const FILL_MS = 60_000;
const WATCHES = '/apis/introspection.longwatch.dev/v1alpha1/watches';

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say } = context;
  const pods = isQuick ? 10_000 : 40_000;
  const rounds = isQuick ? 1 : 3;
  const values: number[] = [];
  let note = '';
  for (let round = 0; round < rounds; round++) {
    say(`memory of workers: ${pods} pods`);
    const grown = async (workers: number) => {
      const empty = await measure(context, 1, workers);
      const full = await measure(context, pods, workers);
      return { bytes: full.bytes - empty.bytes, json: pods * full.podBytes };
    };
    const [few, more] = [await grown(FEW), await grown(MORE)];
    values.push((more.bytes - few.bytes) / (MORE - FEW) / pods);
    const mb = (bytes: number) => Math.round(bytes / 1e6);
    note = `${mb(few.json)} MB of JSON: ${mb(few.bytes)} MB with ${FEW} worker, ${mb(more.bytes)} MB with ${MORE}`;
  }
  const target = { value: BYTES_PER_WORKER };
  return [
    valueRow(`heap of a pod in a cache that follows, ${pods} pods`, 'bytes', [await heapOfFollower(context, pods)], {
      target,
    }),
    valueRow(`memory of a pod for each further worker, ${pods} pods`, 'bytes', values, { note }),
  ];
}

async function measure(context: ServerContext, pods: number, workers: number) {
  const { dataDir, podBytes } = await preparePods(context, pods, GROUPS);
  await using server = await MeasuredProcess.startServerWith(context, { dataDir, workers });
  const endpoint = endpointOf(server, dataDir);
  const watchers: Watchers[] = [];
  const filled = new Set<string>();
  while (filled.size < workers) {
    watchers.push(await Watchers.overHttp1(endpoint, [`${PODS}?watch=1&fieldSelector=metadata.name=none`]));
    const asking = await Client.open(endpoint);
    const { body } = await asking.must('GET', WATCHES, undefined, true);
    for (const [, worker] of body.toString().matchAll(/"worker":(\d+)/g)) filled.add(worker!);
    asking.close();
  }
  await sleep(REST_MS);
  const { ownBytes } = await server.memory();
  for (const one of watchers) one[Symbol.dispose]();
  return { bytes: ownBytes, podBytes };
}

/** In this process, where garbage can be collected: what one more cache of the same objects adds to the heap. */
async function heapOfFollower(context: ServerContext, pods: number): Promise<number> {
  const { dataDir } = await preparePods(context, pods, GROUPS);
  await using store = await openEmbeddedStore({
    dataDir: join(dataDir, 'store'),
    durability: 'none',
    autoCompaction: { mode: 'off' },
  });
  const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
  const followed = await openFollowed(options, store);
  const filled = async (storages: ResourceStorages) => {
    await storages.cachedStorageOf('', 'pods')!.objects.waitFor(1, FILL_MS, context.signal);
    followed.forget();
    for (let i = 0; i < 5; i++) {
      globalThis.gc?.();
      await sleep(50);
    }
    return process.memoryUsage().heapUsed;
  };
  const before = await filled(followed.owner);
  const after = await filled(followed.worker);
  await followed.close();
  return (after - before) / pods;
}
