/**
 * Resident memory: of a server with many pods beside their size as JSON, and of a watch that waits. Each figure comes
 * from processes that have done nothing else, and from a moment of rest: the store gives the pages of its file back once
 * nobody has read for a second. What the process holds without mapped files stands in the note.
 *
 * A watch is counted by the growth over 1,000 more of them, after a first few hundred have made the process settle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { MeasuredProcess } from '../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../lib/server-report.ts';
import { Client, connectTls } from './server-client.ts';
import { endpointOf, GROUPS, newestVersion, PODS, preparePods } from './server-data.ts';
import { Watchers } from './server-watchers.ts';

export const serverMemory: ServerBenchmark = { name: 'server-memory', run };

const MB = 1e6;
const TIMES_JSON = 1.6;
const HTTP1_LIMIT_KB = 8;
const HTTP2_LIMIT_KB = 12;
const FIRST = 200;
const REST_MS = 2000;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say } = context;
  const rows: ServerRow[] = [];
  for (const pods of isQuick ? [10_000] : [10_000, 50_000]) {
    say(`memory: ${pods} pods`);
    rows.push(await memoryOfPods(context, pods));
  }
  const more = isQuick ? 300 : 1000;
  const rounds = isQuick ? 1 : 3;
  const http1: number[] = [];
  const bare: number[] = [];
  const http2 = new Map<number, number[]>([10, 50].map((streams) => [streams, []]));
  for (let round = 0; round < rounds; round++) {
    say('memory: idle watches');
    http1.push(await memoryOfWatches(context, (count, server) => openWatches(server, count, 0), more));
    bare.push(await memoryOfConnections(context, more));
    for (const [streams, values] of http2)
      values.push(await memoryOfWatches(context, (count, server) => openWatches(server, count, streams), more));
  }
  const above = http1.map((kb, i) => kb - bare[i]!);
  return [
    ...rows,
    valueRow('idle watch over HTTP/1.1: above a bare TLS connection', 'KB', above, {
      target: { value: HTTP1_LIMIT_KB },
    }),
    valueRow('idle watch over HTTP/1.1: all of it', 'KB', http1, { bare }),
    ...[...http2].map(([streams, values]) =>
      valueRow(`idle watch over HTTP/2, ${streams} to a connection`, 'KB', values, {
        ...(streams === 50 && { target: { value: HTTP2_LIMIT_KB } }),
      }),
    ),
  ];
}

/** The cache of a resource is filled by the first who asks; a list of one pod does. */
async function memoryOfPods(context: ServerContext, pods: number): Promise<ServerRow> {
  const measured = async (count: number) => {
    const { dataDir, podBytes } = await preparePods(context, count, GROUPS);
    await using server = await MeasuredProcess.startServer(context, dataDir);
    const client = await Client.open(endpointOf(server, dataDir));
    await client.must('GET', `${PODS}?limit=1`);
    client.close();
    await sleep(REST_MS);
    return { ...(await server.memory()), podBytes };
  };
  const empty = await measured(1);
  const full = await measured(pods);
  const json = pods * full.podBytes;
  const mb = (bytes: number) => Math.round(bytes / MB);
  return valueRow(`RSS of ${pods} pods to their JSON`, '×', [(full.rssBytes - empty.rssBytes) / json], {
    target: { value: TIMES_JSON },
    note:
      `RSS ${mb(empty.rssBytes)} to ${mb(full.rssBytes)} MB for ${mb(json)} MB of JSON; ` +
      `without mapped files ${mb(empty.ownBytes)} to ${mb(full.ownBytes)} MB; heap ${mb(full.heapBytes)}, ` +
      `buffers ${mb(full.bufferBytes)} MB`,
  });
}

type Server = { readonly process: MeasuredProcess; readonly dataDir: string };

async function memoryOfWatches(
  context: ServerContext,
  open: (count: number, server: Server) => Promise<Disposable>,
  more: number,
): Promise<number> {
  const { dataDir } = await preparePods(context, 10, GROUPS);
  await using process = await MeasuredProcess.startServer(context, dataDir);
  return await growth(process, (count) => open(count, { process, dataDir }), more);
}

async function openWatches({ process, dataDir }: Server, count: number, streams: number): Promise<Disposable> {
  const endpoint = endpointOf(process, dataDir);
  const version = await newestVersion(endpoint);
  const paths = Array.from({ length: count }, () => `${PODS}?watch=1&resourceVersion=${version}`);
  return streams === 0 ? Watchers.overHttp1(endpoint, paths) : Watchers.overHttp2(endpoint, paths, streams);
}

async function memoryOfConnections(context: ServerContext, more: number): Promise<number> {
  const { dataDir } = await preparePods(context, 10, GROUPS);
  await using process = await MeasuredProcess.startBare(context, dataDir);
  const open = async (count: number): Promise<Disposable> => {
    const sockets: TLSSocket[] = [];
    while (sockets.length < count) {
      const group = Array.from({ length: Math.min(32, count - sockets.length) }, () =>
        connectTls(process.ready.plainTlsPort!, 'http/1.1'),
      );
      sockets.push(...(await Promise.all(group)));
    }
    return { [Symbol.dispose]: () => void sockets.map((socket) => socket.destroy()) };
  };
  return await growth(process, open, more);
}

/** KB of RSS per connection or watch, over `more` of them. */
async function growth(
  process: MeasuredProcess,
  open: (count: number) => Promise<Disposable>,
  more: number,
): Promise<number> {
  using _first = await open(FIRST);
  const { rssBytes: before } = await process.memory();
  using _more = await open(more);
  const { rssBytes: after } = await process.memory();
  return (after - before) / more / 1000;
}
