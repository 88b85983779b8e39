/**
 * What a call to etcd costs this process: our transport and codec over node:http2 against @grpc/grpc-js with
 * @grpc/proto-loader, on the same etcd, with 1, 32 and 256 calls in flight. Both do the same work: a read and a write
 * of one key of 1 KB. The decision it stands for is docs/decisions/0003-grpc-client.md.
 *
 * etcd takes the other core, so calls per second are those of the pair; CPU per call is that of the client alone.
 * Run it with `node --import tsx --expose-gc bench/store/grpc-client.ts`.
 */
import { pathToFileURL } from 'node:url';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { startEtcd } from '../../test/support/etcd-server.ts';
import { inFlight, interleave, measure, median, type Run } from '../lib/measure.ts';

type Client = { get(key: string): Promise<unknown>; put(key: string, value: Buffer): Promise<unknown> };
type ClientName = 'http2' | 'grpcJs';
export type GrpcClientFigures = { what: string; width: number } & Record<
  ClientName,
  { perSecond: number; cpuMicros: number }
>;

const loads = [
  { width: 1, count: 1000 },
  { width: 32, count: 6000 },
  { width: 256, count: 12_000 },
] as const;
const value = Buffer.alloc(1024, 'v');

export async function benchGrpcClient(options: {
  isQuick: boolean;
  signal: AbortSignal;
}): Promise<GrpcClientFigures[]> {
  const { isQuick, signal } = options;
  await using cluster = await startEtcd();
  await using store = await openEtcdStore({ endpoints: cluster.urls });
  const theirs = openGrpcJs(new URL(cluster.urls[0]!).host);
  const clients: Record<ClientName, Client> = {
    http2: {
      get: (key) => store.get(key),
      put: (key, bytes) => store.txn({ then: [{ kind: 'put', key, value: bytes }] }),
    },
    grpcJs: theirs.client,
  };
  const figures: GrpcClientFigures[] = [];
  try {
    for (const what of ['put', 'get'] as const)
      for (const { width, count } of loads) {
        const total = isQuick ? count / 4 : count;
        const once = (name: ClientName): Promise<Run> => {
          const client = clients[name];
          const call = (i: number) => (what === 'get' ? client.get(`k${i % 100}`) : client.put(`k${i % 100}`, value));
          return measure(() => inFlight(total, width, call, { signal }));
        };
        const names: readonly ClientName[] = ['http2', 'grpcJs'];
        for (const name of names) await once(name); // to compile it, and for `get` to have something to read
        const runs = await interleave(isQuick ? 3 : 5, names, once);
        figures.push({ what, width, http2: summarise(runs.http2), grpcJs: summarise(runs.grpcJs) });
      }
  } finally {
    theirs.close();
  }
  return figures;
}

export function printGrpcClient(figures: readonly GrpcClientFigures[]): void {
  console.log('| call | in flight | CPU us per call: http2 | grpc-js | ratio | calls/s: http2 | grpc-js | ratio |');
  console.log('|---|---|---|---|---|---|---|---|');
  for (const { what, width, http2, grpcJs } of figures) {
    const cpu = [
      http2.cpuMicros.toFixed(0),
      grpcJs.cpuMicros.toFixed(0),
      (grpcJs.cpuMicros / http2.cpuMicros).toFixed(2),
    ];
    const rate = [
      http2.perSecond.toFixed(0),
      grpcJs.perSecond.toFixed(0),
      (http2.perSecond / grpcJs.perSecond).toFixed(2),
    ];
    console.log(`| ${[what, width, ...cpu, ...rate].join(' | ')} |`);
  }
}

/** The median of the CPU, which noise moves both ways; the best of the rates, which it only lowers. */
function summarise(runs: readonly Run[]): { perSecond: number; cpuMicros: number } {
  return {
    perSecond: Math.max(...runs.map((run) => run.perSecond)),
    cpuMicros: median(runs.map((run) => run.cpuMicrosPerOperation)),
  };
}

/** As much of etcd's protocol as the two calls need. */
function openGrpcJs(address: string): { client: Client; close: () => void } {
  const field = (type: string, id: number) => ({ type, id });
  const repeated = (type: string, id: number) => ({ type, id, rule: 'repeated' as const });
  const method = (requestType: string, responseType: string) => ({ requestType, responseType, comment: '' });
  const message = (fields: Record<string, { type: string; id: number }>) => ({ fields });
  const definition = fromJSON(
    {
      nested: {
        etcdserverpb: {
          nested: {
            Header: message({ revision: field('int64', 3) }),
            KeyValue: message({
              key: field('bytes', 1),
              createRevision: field('int64', 2),
              modRevision: field('int64', 3),
              version: field('int64', 4),
              value: field('bytes', 5),
              lease: field('int64', 6),
            }),
            RangeRequest: message({ key: field('bytes', 1) }),
            RangeResponse: message({
              header: field('Header', 1),
              kvs: repeated('KeyValue', 2),
              count: field('int64', 4),
            }),
            PutRequest: message({ key: field('bytes', 1), value: field('bytes', 2) }),
            RequestOp: message({ requestPut: field('PutRequest', 2) }),
            TxnRequest: message({ success: repeated('RequestOp', 2) }),
            TxnResponse: message({ header: field('Header', 1), succeeded: field('bool', 2) }),
            KV: {
              methods: { Range: method('RangeRequest', 'RangeResponse'), Txn: method('TxnRequest', 'TxnResponse') },
            },
          },
        },
      },
    },
    { longs: Number },
  );
  const loaded = loadPackageDefinition(definition) as unknown as { etcdserverpb: { KV: ServiceClientConstructor } };
  const service = new loaded.etcdserverpb.KV(address, credentials.createInsecure());
  const call = (name: 'range' | 'txn', request: object) =>
    new Promise((resolve, reject) => {
      service[name]!(request, { deadline: Date.now() + 15_000 }, (err: Error | null, answer: unknown) =>
        err ? reject(err) : resolve(answer),
      );
    });
  return {
    client: {
      get: (key) => call('range', { key: Buffer.from(key) }),
      put: (key, bytes) => call('txn', { success: [{ requestPut: { key: Buffer.from(key), value: bytes } }] }),
    },
    close: () => service.close(),
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  printGrpcClient(
    await benchGrpcClient({ isQuick: process.argv.includes('--quick'), signal: new AbortController().signal }),
  );
