/**
 * Memory: of a server with many pods beside their size as JSON, and of a watch that waits. Each figure comes from
 * processes that have done nothing else, and from a moment of rest: the store gives the pages of its file back once
 * nobody has read for a second. What the process holds without mapped files stands in the note.
 *
 * A watch is counted by the growth over 2,000 more of them, after a first thousand have made the process settle: once in
 * RSS, which has in it how the system hands out pages, and once in what the process counts itself, heap and buffers. Beside
 * it stand as many connections of bare Node that have asked for nothing, and as many streams of it that wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { MeasuredProcess } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { Client, connectTls, type Endpoint } from '../load/server-client.ts';
import { endpointOf, GROUPS, newestVersion, PODS, preparePods } from '../load/server-data.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverMemory: ServerBenchmark = { name: 'server-memory', limitSeconds: { usual: 600, whole: 600 }, run };

const MB = 1e6;
const TIMES_JSON = 1.3;
const HTTP1_LIMIT_KB = 8;
const HTTP2_LIMIT_KB = 12;
const STREAMS = 100;
const REST_MS = 2000;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say } = context;
  const rows: ServerRow[] = [];
  for (const pods of isQuick ? [20_000] : [20_000, 100_000]) {
    say(`memory: ${pods} pods`);
    rows.push(await memoryOfPods(context, pods));
  }
  const size = isQuick ? { first: 200, more: 300 } : { first: 1000, more: 2000 };
  const found = {
    http1: [] as Growth[],
    http2: [] as Growth[],
    tls: [] as Growth[],
    bare1: [] as Growth[],
    bare2: [] as Growth[],
  };
  for (let round = 0; round < (isQuick ? 1 : 2); round++) {
    say('memory: idle watches');
    found.http1.push(await memoryOfWatches(context, size, 0));
    found.tls.push(await memoryOfConnections(context, size));
    found.bare1.push(await memoryOfBareWatches(context, size, 0));
    found.http2.push(await memoryOfWatches(context, size, STREAMS));
    found.bare2.push(await memoryOfBareWatches(context, size, STREAMS));
  }
  // Of a few hundred, RSS says nothing: pages that others have left are filled first.
  for (const what of isQuick ? (['heap and buffers'] as const) : (['heap and buffers', 'RSS'] as const)) {
    const of = (growths: readonly Growth[]) => growths.map((growth) => growth[what]);
    const above = (growths: readonly Growth[]) => of(growths).map((kb, i) => kb - found.tls[i]![what]);
    rows.push(
      valueRow(`idle watch over HTTP/1.1, above its TLS socket: ${what}`, 'KB', above(found.http1), {
        bare: above(found.bare1),
        target: { value: HTTP1_LIMIT_KB },
        note: `the socket: ${of(found.tls)
          .map((kb) => kb.toFixed(1))
          .join(', ')}`,
      }),
      valueRow(
        `idle watch over HTTP/2, ${STREAMS} to a connection, with its share of it: ${what}`,
        'KB',
        of(found.http2),
        {
          bare: of(found.bare2),
          target: { value: HTTP2_LIMIT_KB },
        },
      ),
    );
  }
  return rows;
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

type Size = { readonly first: number; readonly more: number };
/** KB for each. */
type Growth = { readonly RSS: number; readonly 'heap and buffers': number };

/** `streams` 0: HTTP/1.1. */
async function memoryOfWatches(context: ServerContext, size: Size, streams: number): Promise<Growth> {
  const { dataDir } = await preparePods(context, 10, GROUPS);
  await using process = await MeasuredProcess.startServer(context, dataDir);
  const endpoint = endpointOf(process, dataDir);
  const version = await newestVersion(endpoint);
  return await growth(process, openWatches(endpoint, `${PODS}?watch=1&resourceVersion=${version}`, streams), size);
}

async function memoryOfBareWatches(context: ServerContext, size: Size, streams: number): Promise<Growth> {
  const { dataDir } = await preparePods(context, 10, GROUPS);
  await using process = await MeasuredProcess.startBare(context, dataDir);
  return await growth(process, openWatches(endpointOf(process, dataDir), '/watch', streams), size);
}

async function memoryOfConnections(context: ServerContext, size: Size): Promise<Growth> {
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
  return await growth(process, open, size);
}

function openWatches(endpoint: Endpoint, path: string, streams: number): (count: number) => Promise<Disposable> {
  return (count) => {
    const paths = Array.from({ length: count }, () => path);
    return streams === 0 ? Watchers.overHttp1(endpoint, paths) : Watchers.overHttp2(endpoint, paths, streams);
  };
}

async function growth(
  process: MeasuredProcess,
  open: (count: number) => Promise<Disposable>,
  { first, more }: Size,
): Promise<Growth> {
  using _first = await open(first);
  const before = await process.memory();
  using _more = await open(more);
  const after = await process.memory();
  const counted = ({ heapBytes, bufferBytes }: typeof before) => heapBytes + bufferBytes;
  return {
    RSS: (after.rssBytes - before.rssBytes) / more / 1000,
    'heap and buffers': (counted(after) - counted(before)) / more / 1000,
  };
}
