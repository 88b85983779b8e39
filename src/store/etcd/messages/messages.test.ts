/** Our messages against a codec that is not ours, from the same field numbers. */
import { fromJSON } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import type { KeyRange, Txn } from '../../kv.ts';
import { decodeRange, encodeRange, wireRange } from './messages.ts';
import { decodeLeaseInfo, decodeLeases, decodeStatus, encodeLeaseGrant } from './messages-admin.ts';
import { decodeTxn, encodeTxn } from './messages-txn.ts';
import { decodeWatchResponse, encodeWatchCreate, watchProgressRequest } from './messages-watch.ts';

type Fields = Record<string, { type: string; id: number; rule?: 'repeated' }>;
const all = (type: string, ...named: [string, number][]): Fields =>
  Object.fromEntries(named.map(([name, id]) => [name, { type, id }]));
const many = (type: string, name: string, id: number): Fields => ({ [name]: { type, id, rule: 'repeated' } });

const types: Record<string, Fields> = {
  Header: { ...all('uint64', ['cluster_id', 1], ['member_id', 2], ['raft_term', 4]), ...all('int64', ['revision', 3]) },
  KeyValue: {
    ...all('bytes', ['key', 1], ['value', 5]),
    ...all('int64', ['create_revision', 2], ['mod_revision', 3], ['version', 4], ['lease', 6]),
  },
  RangeRequest: {
    ...all('bytes', ['key', 1], ['range_end', 2]),
    ...all('int64', ['limit', 3], ['revision', 4]),
    ...all('bool', ['serializable', 7], ['keys_only', 8], ['count_only', 9]),
  },
  RangeResponse: {
    ...all('Header', ['header', 1]),
    ...many('KeyValue', 'kvs', 2),
    ...all('bool', ['more', 3]),
    ...all('int64', ['count', 4]),
  },
  PutRequest: {
    ...all('bytes', ['key', 1], ['value', 2]),
    ...all('int64', ['lease', 3]),
    ...all('bool', ['prev_kv', 4]),
  },
  PutResponse: { ...all('Header', ['header', 1]), ...all('KeyValue', ['prev_kv', 2]) },
  DeleteRequest: { ...all('bytes', ['key', 1], ['range_end', 2]), ...all('bool', ['prev_kv', 3]) },
  DeleteResponse: { ...all('int64', ['deleted', 2]), ...many('KeyValue', 'prev_kvs', 3) },
  RequestOp: {
    ...all('RangeRequest', ['range', 1]),
    ...all('PutRequest', ['put', 2]),
    ...all('DeleteRequest', ['del', 3]),
  },
  ResponseOp: {
    ...all('RangeResponse', ['range', 1]),
    ...all('PutResponse', ['put', 2]),
    ...all('DeleteResponse', ['del', 3]),
  },
  Compare: {
    ...all('int32', ['result', 1], ['target', 2]),
    ...all('bytes', ['key', 3], ['value', 7], ['range_end', 64]),
    ...all('int64', ['version', 4], ['create_revision', 5], ['mod_revision', 6], ['lease', 8]),
  },
  TxnRequest: {
    ...many('Compare', 'compare', 1),
    ...many('RequestOp', 'success', 2),
    ...many('RequestOp', 'failure', 3),
  },
  TxnResponse: {
    ...all('Header', ['header', 1]),
    ...all('bool', ['succeeded', 2]),
    ...many('ResponseOp', 'responses', 3),
  },
  WatchCreate: {
    ...all('bytes', ['key', 1], ['range_end', 2]),
    ...all('int64', ['start_revision', 3], ['watch_id', 7]),
    ...all('bool', ['progress_notify', 4], ['prev_kv', 6], ['fragment', 8]),
  },
  Nothing: {},
  WatchRequest: { ...all('WatchCreate', ['create', 1]), ...all('Nothing', ['progress', 3]) },
  Event: { ...all('int32', ['type', 1]), ...all('KeyValue', ['kv', 2], ['prev_kv', 3]) },
  WatchResponse: {
    ...all('Header', ['header', 1]),
    ...all('int64', ['watch_id', 2], ['compact_revision', 5]),
    ...all('bool', ['created', 3], ['canceled', 4], ['fragment', 7]),
    ...all('string', ['cancel_reason', 6]),
    ...many('Event', 'events', 11),
  },
  LeaseGrant: all('int64', ['ttl', 1], ['id', 2]),
  LeaseInfo: { ...all('int64', ['id', 2], ['ttl', 3], ['granted', 4]), ...many('bytes', 'keys', 5) },
  LeaseStatus: all('int64', ['id', 1]),
  Leases: { ...all('Header', ['header', 1]), ...many('LeaseStatus', 'leases', 2) },
  Status: {
    ...all('Header', ['header', 1]),
    ...all('string', ['version', 2]),
    ...all('int64', ['size', 3], ['in_use', 9]),
    ...all('uint64', ['leader', 4]),
    ...many('string', 'errors', 8),
  },
};

const codecs = fromJSON(
  {
    nested: {
      ...Object.fromEntries(Object.entries(types).map(([name, fields]) => [name, { fields }])),
      Codecs: {
        methods: Object.fromEntries(
          Object.keys(types).map((name) => [name, { requestType: name, responseType: name, comment: '' }]),
        ),
      },
    },
  },
  { keepCase: true, longs: String },
).Codecs as unknown as Record<
  string,
  { requestSerialize: (value: object) => Buffer; requestDeserialize: (bytes: Buffer) => object }
>;
const theirBytes = (type: string, value: object) => codecs[type]!.requestSerialize(value);
const theyRead = (type: string, bytes: Uint8Array) => codecs[type]!.requestDeserialize(Buffer.from(bytes));

const bytes = (text: string) => Buffer.from(text, 'latin1');
const header = { cluster_id: '18446744073709551615', member_id: '9223372036854775809', revision: '77', raft_term: '3' };
const theirKv = {
  ...{ key: bytes('k\xff'), create_revision: '5', mod_revision: '6' },
  version: '2',
  value: bytes('v'),
};
const ourKv = {
  ...{ key: 'k\xff', createRevision: 5, modRevision: 6, version: 2 },
  ...{ value: bytes('v'), lease: 2n ** 62n },
};

describe('ranges', () => {
  it.each<[range: KeyRange, key: string, end: string | undefined]>([
    [{ key: 'a' }, 'a', undefined],
    [{ prefix: 'a/' }, 'a/', 'a0'],
    [{ prefix: '' }, '\0', '\0'],
    [{ prefix: '\xff\xff' }, '\xff\xff', '\0'],
    [{ prefix: 'a\xff' }, 'a\xff', 'b'],
    [{ start: 'a', end: 'b' }, 'a', 'b'],
    [{ start: 'a' }, 'a', '\0'],
    [{ start: '' }, '\0', '\0'],
    [{ start: '', end: 'b' }, '\0', 'b'],
  ])('%j goes out as %j to %j', (range, key, end) => expect(wireRange(range)).toEqual({ key, end }));

  it('a range below every key is not sent as everything', () => {
    const { key, end } = wireRange({ start: '', end: '\0' });
    expect(end).not.toBe('\0');
    expect(key > end!).toBe(true);
  });

  it.each([{ key: '' }, { key: '\u0100' }, { prefix: 'é€' }, { start: 'b', end: 'a' }, { start: 'a', end: '\u0100' }])(
    '%j is refused',
    (range) => expect(() => encodeRange(range)).toThrow(expect.objectContaining({ code: 'InvalidArgument' })),
  );

  it.each([{ limit: -1 }, { limit: 1.5 }, { revision: -1 }, { revision: Number.NaN }])('%j is refused', (options) => {
    expect(() => encodeRange({ key: 'a' }, options)).toThrow(expect.objectContaining({ code: 'InvalidArgument' }));
  });

  it('are written with their options and read with their results', () => {
    const request = encodeRange({ prefix: 'a' }, { limit: 5, revision: 300, keysOnly: true, countOnly: true });
    expect(theyRead('RangeRequest', request)).toEqual({
      ...{ key: bytes('a'), range_end: bytes('b'), limit: '5', revision: '300' },
      ...{ keys_only: true, count_only: true },
    });
    expect(theyRead('RangeRequest', encodeRange({ key: 'a' }))).toEqual({ key: bytes('a') });
    const response = theirBytes('RangeResponse', {
      ...{ header, kvs: [{ ...theirKv, lease: '4611686018427387904' }, { key: bytes('z') }] },
      ...{ more: true, count: '9' },
    });
    const result = decodeRange(response);
    expect(result).toMatchObject({ revision: 77, more: true, count: 9 });
    expect(result.kvs[0]).toEqual(ourKv);
    expect(result.kvs[1]).toMatchObject({ key: 'z', modRevision: 0, lease: 0n });
  });
});

describe('transactions', () => {
  it('are written with every compare and operation, zero operands too', () => {
    const txn: Txn = {
      compare: [
        { range: { key: 'a' }, target: 'modRevision', is: '=', than: 0 },
        { range: { prefix: 'p' }, target: 'version', is: '>', than: 3 },
        { range: { key: 'a' }, target: 'createRevision', is: '<', than: 7 },
        { range: { key: 'a' }, target: 'lease', is: '!=', than: 2n ** 62n },
        { range: { key: 'a' }, target: 'value', is: '=', than: new Uint8Array(0) },
      ],
      then: [
        { kind: 'put', key: 'a', value: bytes('v'), lease: 2n ** 62n, prevKv: true },
        { kind: 'delete', range: { prefix: 'd' }, prevKv: true },
      ],
      else: [{ kind: 'range', range: { key: 'a' }, options: { limit: 1 } }],
    };
    expect(theyRead('TxnRequest', encodeTxn(txn))).toEqual({
      compare: [
        { result: 0, target: 2, key: bytes('a'), mod_revision: '0' },
        { result: 1, target: 0, key: bytes('p'), version: '3', range_end: bytes('q') },
        { result: 2, target: 1, key: bytes('a'), create_revision: '7' },
        { result: 3, target: 4, key: bytes('a'), lease: '4611686018427387904' },
        { result: 0, target: 3, key: bytes('a'), value: bytes('') },
      ],
      success: [
        { put: { key: bytes('a'), value: bytes('v'), lease: '4611686018427387904', prev_kv: true } },
        { del: { key: bytes('d'), range_end: bytes('e'), prev_kv: true } },
      ],
      failure: [{ range: { key: bytes('a'), limit: '1' } }],
    });
  });

  it('are read with the result of every operation', () => {
    const lease = '4611686018427387904';
    const response = theirBytes('TxnResponse', {
      header,
      succeeded: true,
      responses: [
        { put: { header: { revision: '77' } } },
        { put: { prev_kv: { ...theirKv, lease } } },
        { del: { deleted: '2', prev_kvs: [{ ...theirKv, lease }] } },
        { range: { kvs: [{ ...theirKv, lease }], count: '1' } },
      ],
    });
    expect(decodeTxn(response)).toEqual({
      ...{ succeeded: true, revision: 77 },
      results: [
        { kind: 'put', prevKv: undefined },
        { kind: 'put', prevKv: ourKv },
        { kind: 'delete', deleted: 2, prevKvs: [ourKv] },
        { kind: 'range', revision: 77, kvs: [ourKv], count: 1, more: false },
      ],
    });
  });

  it('with an operation that has no result are refused', () => {
    const response = theirBytes('TxnResponse', { header, responses: [{}] });
    expect(() => decodeTxn(response)).toThrow(expect.objectContaining({ code: 'Corrupt' }));
  });
});

describe('watches', () => {
  it('ask for fragments and progress, and from where', () => {
    const create = encodeWatchCreate({ range: { prefix: 'a' }, startRevision: 9, prevKv: true });
    const flags = { progress_notify: true, fragment: true };
    expect(theyRead('WatchRequest', create)).toEqual({
      create: { key: bytes('a'), range_end: bytes('b'), start_revision: '9', prev_kv: true, ...flags },
    });
    const fromNow = encodeWatchCreate({ range: { key: 'a' }, startRevision: 0, prevKv: false });
    expect(theyRead('WatchRequest', fromNow)).toEqual({ create: { key: bytes('a'), ...flags } });
    expect(theyRead('WatchRequest', watchProgressRequest)).toEqual({ progress: {} });
  });

  it('are answered with events', () => {
    const kv = { ...theirKv, lease: '4611686018427387904' };
    const deleted = { key: bytes('k'), mod_revision: '8' };
    const events = [{ kv }, { type: 1, kv: deleted, prev_kv: kv }];
    const response = theirBytes('WatchResponse', { header, watch_id: '-1', fragment: true, events });
    expect(decodeWatchResponse(response)).toEqual({
      ...{ revision: 77, created: false, canceled: false, compactRevision: 0, cancelReason: '', fragment: true },
      events: [
        { type: 'put', kv: ourKv, prevKv: undefined },
        {
          type: 'delete',
          kv: { key: 'k', value: new Uint8Array(0), createRevision: 0, modRevision: 8, version: 0, lease: 0n },
          prevKv: ourKv,
        },
      ],
    });
    const end = { header, canceled: true, created: true, compact_revision: '5', cancel_reason: 'why' };
    expect(decodeWatchResponse(theirBytes('WatchResponse', end))).toMatchObject({
      ...{ canceled: true, created: true, compactRevision: 5, cancelReason: 'why', events: [] },
    });
  });
});

describe('leases and status', () => {
  it('keep all bits of an id', () => {
    const id = 2n ** 63n - 1n;
    expect(theyRead('LeaseGrant', encodeLeaseGrant(60, id))).toEqual({ ttl: '60', id: String(id) });
    expect(theyRead('LeaseGrant', encodeLeaseGrant(60, 0n))).toEqual({ ttl: '60' });
    const info = { id: String(id), ttl: '50', granted: '60', keys: [bytes('b'), bytes('a\xff')] };
    expect(decodeLeaseInfo(theirBytes('LeaseInfo', info))).toEqual({
      ...{ id, grantedTtlSeconds: 60, remainingSeconds: 50, keys: ['a\xff', 'b'] },
    });
    expect(decodeLeaseInfo(theirBytes('LeaseInfo', { id: '5', ttl: '-1' }))).toBeUndefined();
    const leases = { header, leases: [{ id: String(id) }, { id: '3' }] };
    expect(decodeLeases(theirBytes('Leases', leases))).toEqual([3n, id]);
  });

  it('read the status past ids that do not fit a number', () => {
    const status = { header, version: '3.5.30', size: '4096', in_use: '1024', leader: header.member_id, errors: ['x'] };
    expect(decodeStatus(theirBytes('Status', status))).toEqual({
      ...{ version: '3.5.30', revision: 77, sizeBytes: 4096, sizeInUseBytes: 1024, hasLeader: true, errors: ['x'] },
    });
  });
});
