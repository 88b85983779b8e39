/** etcd's API through gRPC's own client, from field numbers written down here: a client that is none of ours. */
import {
  type ClientDuplexStream,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

type Fields = Record<string, { type: string; id: number; rule?: 'repeated' }>;
const all = (type: string, named: Record<string, number>): Fields =>
  Object.fromEntries(Object.entries(named).map(([name, id]) => [name, { type, id }]));
const many = (type: string, name: string, id: number): Fields => ({ [name]: { type, id, rule: 'repeated' } });

const header = all('Header', { header: 1 });
const messages: Record<string, Fields> = {
  Header: all('int64', { revision: 3 }),
  KeyValue: {
    ...all('bytes', { key: 1, value: 5 }),
    ...all('int64', { create_revision: 2, mod_revision: 3, version: 4, lease: 6 }),
  },
  RangeRequest: {
    ...all('bytes', { key: 1, range_end: 2 }),
    ...all('int64', { limit: 3, revision: 4, min_mod: 10, max_mod: 11, min_create: 12, max_create: 13 }),
    ...all('int32', { sort_order: 5, sort_target: 6 }),
    ...all('bool', { serializable: 7, keys_only: 8, count_only: 9 }),
  },
  RangeResponse: {
    ...header,
    ...many('KeyValue', 'kvs', 2),
    ...all('bool', { more: 3 }),
    ...all('int64', { count: 4 }),
  },
  PutRequest: {
    ...all('bytes', { key: 1, value: 2 }),
    ...all('int64', { lease: 3 }),
    ...all('bool', { prev_kv: 4, ignore_value: 5, ignore_lease: 6 }),
  },
  PutResponse: { ...header, ...all('KeyValue', { prev_kv: 2 }) },
  DeleteRequest: { ...all('bytes', { key: 1, range_end: 2 }), ...all('bool', { prev_kv: 3 }) },
  DeleteResponse: { ...header, ...all('int64', { deleted: 2 }), ...many('KeyValue', 'prev_kvs', 3) },
  RequestOp: {
    ...all('RangeRequest', { range: 1 }),
    ...all('PutRequest', { put: 2 }),
    ...all('DeleteRequest', { del: 3 }),
    ...all('TxnRequest', { txn: 4 }),
  },
  ResponseOp: {
    ...all('RangeResponse', { range: 1 }),
    ...all('PutResponse', { put: 2 }),
    ...all('DeleteResponse', { del: 3 }),
    ...all('TxnResponse', { txn: 4 }),
  },
  Compare: {
    ...all('int32', { result: 1, target: 2 }),
    ...all('bytes', { key: 3, value: 7, range_end: 64 }),
    ...all('int64', { version: 4, create_revision: 5, mod_revision: 6, lease: 8 }),
  },
  TxnRequest: {
    ...many('Compare', 'compare', 1),
    ...many('RequestOp', 'success', 2),
    ...many('RequestOp', 'failure', 3),
  },
  TxnResponse: { ...header, ...all('bool', { succeeded: 2 }), ...many('ResponseOp', 'responses', 3) },
  CompactRequest: { ...all('int64', { revision: 1 }), ...all('bool', { physical: 2 }) },
  OnlyHeader: header,
  WatchCreate: {
    ...all('bytes', { key: 1, range_end: 2 }),
    ...all('int64', { start_revision: 3, watch_id: 7 }),
    ...all('bool', { progress_notify: 4, prev_kv: 6, fragment: 8 }),
    ...many('int32', 'filters', 5),
  },
  WatchCancel: all('int64', { watch_id: 1 }),
  Nothing: {},
  WatchRequest: {
    ...all('WatchCreate', { create: 1 }),
    ...all('WatchCancel', { cancel: 2 }),
    ...all('Nothing', { progress: 3 }),
  },
  Event: { ...all('int32', { type: 1 }), ...all('KeyValue', { kv: 2, prev_kv: 3 }) },
  WatchResponse: {
    ...header,
    ...all('int64', { watch_id: 2, compact_revision: 5 }),
    ...all('bool', { created: 3, canceled: 4, fragment: 7 }),
    ...all('string', { cancel_reason: 6 }),
    ...many('Event', 'events', 11),
  },
  LeaseGrant: all('int64', { ttl: 1, id: 2 }),
  LeaseAnswer: { ...header, ...all('int64', { id: 2, ttl: 3 }) },
  LeaseRequest: { ...all('int64', { id: 1 }), ...all('bool', { keys: 2 }) },
  LeaseInfo: { ...header, ...all('int64', { id: 2, ttl: 3, granted: 4 }), ...many('bytes', 'keys', 5) },
  LeaseStatus: all('int64', { id: 1 }),
  Leases: { ...header, ...many('LeaseStatus', 'leases', 2) },
  Status: {
    ...header,
    ...all('string', { version: 2 }),
    ...all('int64', { size: 3 }),
    ...all('uint64', { leader: 4 }),
  },
  HashRequest: all('int64', { revision: 1 }),
  HashAnswer: { ...header, ...all('uint32', { hash: 2 }) },
  Member: { ...all('string', { name: 2 }), ...many('string', 'client_urls', 4) },
  Members: { ...header, ...many('Member', 'members', 2) },
  Alarms: header,
};

const call = (requestType: string, responseType: string) => ({ requestType, responseType, comment: '' });
const services: Record<string, Record<string, object>> = {
  KV: {
    Range: call('RangeRequest', 'RangeResponse'),
    Put: call('PutRequest', 'PutResponse'),
    DeleteRange: call('DeleteRequest', 'DeleteResponse'),
    Txn: call('TxnRequest', 'TxnResponse'),
    Compact: call('CompactRequest', 'OnlyHeader'),
  },
  Watch: { Watch: { ...call('WatchRequest', 'WatchResponse'), requestStream: true, responseStream: true } },
  Lease: {
    LeaseGrant: call('LeaseGrant', 'LeaseAnswer'),
    LeaseRevoke: call('LeaseRequest', 'OnlyHeader'),
    LeaseLeases: call('Nothing', 'Leases'),
    LeaseTimeToLive: call('LeaseRequest', 'LeaseInfo'),
    LeaseKeepAlive: { ...call('LeaseRequest', 'LeaseAnswer'), requestStream: true, responseStream: true },
  },
  Maintenance: {
    Status: call('Nothing', 'Status'),
    HashKV: call('HashRequest', 'HashAnswer'),
    Alarm: call('Nothing', 'Alarms'),
    Defragment: call('Nothing', 'OnlyHeader'),
  },
  Cluster: { MemberList: call('Nothing', 'Members') },
};

const nested = {
  ...Object.fromEntries(Object.entries(messages).map(([name, fields]) => [name, { fields }])),
  ...Object.fromEntries(Object.entries(services).map(([name, methods]) => [name, { methods }])),
};
const loaded = loadPackageDefinition(
  fromJSON(
    { nested: { etcdserverpb: { nested: nested as never } } },
    { keepCase: true, longs: Number, bytes: String, defaults: true },
  ),
) as unknown as { etcdserverpb: Record<string, ServiceClientConstructor> };

export type Answer = { readonly [field: string]: unknown };

export class EtcdGrpc implements Disposable {
  readonly #clients: Record<string, InstanceType<ServiceClientConstructor>>;

  constructor(url: string) {
    const { host } = new URL(url);
    this.#clients = Object.fromEntries(
      Object.keys(services).map((name) => [name, new loaded.etcdserverpb[name]!(host, credentials.createInsecure())]),
    );
  }

  /** What was refused is answered as `{ error: 'code text' }`. */
  ask(service: string, method: string, request: object): Promise<Answer> {
    return new Promise((resolve) => {
      const done = (err: { code: number; details: string } | null, answer: Answer) =>
        resolve(err ? { error: `${err.code} ${err.details}` } : answer);
      this.#clients[service]![method]!(request, { deadline: Date.now() + 15_000 }, done);
    });
  }

  stream(service: string, method: string): ClientDuplexStream<object, Answer> {
    const stream = this.#clients[service]![method]!() as ClientDuplexStream<object, Answer>;
    stream.on('error', () => {}); // cancelling it is one
    return stream;
  }

  [Symbol.dispose](): void {
    for (const client of Object.values(this.#clients)) client.close();
  }
}
