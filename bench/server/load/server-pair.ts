/**
 * The server and bare Node side by side: both running, bare Node loaded with the very bytes that the server sends, so
 * that the two differ only in how they come to send them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MeasuredProcess } from '../../lib/server-process.ts';
import type { ServerContext } from '../../lib/server-report.ts';
import { Client, type Endpoint } from './server-client.ts';
import { endpointOf, PODS, type PodData, podName } from './server-data.ts';

export type ContestantName = 'server' | 'bare';

export const contestants: readonly ContestantName[] = ['server', 'bare'];

export type Contestant = { readonly process: MeasuredProcess; readonly endpoint: Endpoint };

export type Pair = AsyncDisposable &
  Readonly<Record<ContestantName, Contestant>> & {
    /** Of the whole list. */
    readonly listBytes: number;
  };

/** `frames`: how many events bare Node sends to a watch that resumes. */
export async function startPair(context: ServerContext, { dataDir }: PodData, frames = 1): Promise<Pair> {
  const started = await Promise.all([
    MeasuredProcess.startServer(context, dataDir),
    MeasuredProcess.startBare(context, dataDir),
  ]);
  const [server, bare] = started.map((process) => ({ process, endpoint: endpointOf(process, dataDir) }));
  const client = await Client.open(server!.endpoint);
  const list = await client.must('GET', PODS, undefined, true);
  const object = await client.must('GET', `${PODS}/${podName(0)}`, undefined, true);
  client.close();
  const [listFile, objectFile] = [join(dataDir, 'list.json'), join(dataDir, 'object.json')];
  writeFileSync(listFile, list.body);
  writeFileSync(objectFile, object.body);
  await bare!.process.ask({ kind: 'load', listFile, objectFile, frames });
  const close = async () => {
    await Promise.all(started.map((process) => process[Symbol.asyncDispose]()));
  };
  return { server: server!, bare: bare!, listBytes: list.bytes, [Symbol.asyncDispose]: close };
}
