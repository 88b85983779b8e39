/**
 * What an object costs for each worker above the bytes that all threads share: by how much more a server of three workers
 * grows with its pods than one of one worker, for two workers and each pod. Every worker has filled its cache before.
 *
 * Garbage that a worker has not collected is in the figure: nobody can ask it to.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MeasuredProcess } from '../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../lib/server-report.ts';
import { Client } from './server-client.ts';
import { endpointOf, GROUPS, PODS, preparePods } from './server-data.ts';
import { Watchers } from './server-watchers.ts';

export const serverWorkersMemory: ServerBenchmark = { name: 'server-workers-memory', run };

const BYTES_PER_WORKER = 400;
const FEW = 1;
const MORE = 3;
const REST_MS = 2000;
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
  return [valueRow(`memory of a pod for each further worker, ${pods} pods`, 'bytes', values, { target, note })];
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
