import { describe, expect, it } from 'vitest';
import { ProtobufError } from '../../../api/protobuf.ts';
import { StoreError, type StoreErrorCode } from '../../errors.ts';
import { GrpcError, grpcCode, percentDecode, statusIn } from './grpc-status.ts';
import { toStoreError } from './grpc-to-store-error.ts';

const endpoint = 'http://etcd:2379';
const read = { what: 'read key "a"', isRead: true };
const write = { what: 'put key "a"', isRead: false };
const grpc = (code: number, message: string, wasSent = true) => new GrpcError(code, message, { wasSent, endpoint });

describe('toStoreError()', () => {
  it.each<[code: number, message: string, want: StoreErrorCode]>([
    [11, 'etcdserver: mvcc: required revision has been compacted', 'Compacted'],
    [11, 'etcdserver: mvcc: required revision is a future revision', 'FutureRevision'],
    [11, 'etcdserver: too large lease TTL', 'InvalidArgument'],
    [8, 'etcdserver: mvcc: database space exceeded', 'NoSpace'],
    [8, 'etcdserver: too many requests', 'TooManyRequests'],
    [8, 'grpc: received message larger than max (2300008 vs. 2097152)', 'InvalidArgument'],
    [3, 'etcdserver: duplicate key given in txn request', 'InvalidArgument'],
    [3, 'etcdserver: key not found', 'KeyNotFound'],
    [5, 'etcdserver: requested lease not found', 'LeaseNotFound'],
    [9, 'etcdserver: lease already exists', 'LeaseExists'],
    [15, 'etcdserver: corrupt cluster', 'Corrupt'],
    [7, 'etcdserver: permission denied', 'Unavailable'],
    [12, 'unknown service', 'Unavailable'],
  ])('reads %i %j as %s, for reads and writes', (code, message, want) => {
    expect(toStoreError(grpc(code, message), read)).toMatchObject({ name: 'StoreError', code: want });
    expect(toStoreError(grpc(code, message), write)).toMatchObject({ code: want });
  });

  it.each<[claim: string, code: number, message: string]>([
    ['a leader change', 14, 'etcdserver: leader changed'],
    ['a time-out of etcd', 14, 'etcdserver: request timed out'],
    ['a deadline', 4, 'no answer within 100 ms'],
    ['a lost connection', 14, 'the connection was lost'],
    ['a cancelled context', 1, 'context canceled'],
    ['an error of no known kind', 2, 'raft proposal dropped'],
    ['a peer that wants calm', 8, 'the stream was reset, code 11'],
  ])('calls a write unknown after %s, and a read unavailable', (_claim, code, message) => {
    expect(toStoreError(grpc(code, message), read)).toMatchObject({ code: 'Unavailable' });
    expect(toStoreError(grpc(code, message), write)).toMatchObject({ code: 'OutcomeUnknown' });
    expect(toStoreError(grpc(code, message, false), write)).toMatchObject({ code: 'Unavailable' });
  });

  it('says what was tried, where, and what was found', () => {
    expect((toStoreError(grpc(14, 'etcdserver: no leader'), read) as Error).message).toBe(
      'Cannot read key "a": etcdserver: no leader (http://etcd:2379)',
    );
    expect((toStoreError(grpc(4, 'no answer within 5 ms'), write) as Error).message).toBe(
      'Cannot tell whether etcd did what it was asked, to put key "a": it was sent to http://etcd:2379, then no answer within 5 ms',
    );
  });

  it('calls a broken answer Corrupt, and passes on what is not its own', () => {
    expect(toStoreError(new ProtobufError('cut short'), read)).toMatchObject({ code: 'Corrupt' });
    const closed = new StoreError('Closed', 'Cannot');
    expect(toStoreError(closed, write)).toBe(closed);
    const bug = new TypeError('bug');
    expect(toStoreError(bug, write)).toBe(bug);
  });
});

describe('statusIn()', () => {
  it('finds code and message, decoded', () => {
    expect(statusIn({ 'grpc-status': '14', 'grpc-message': 'no%20leader: 100%25 %E2%9C%93' })).toEqual({
      code: grpcCode.unavailable,
      message: 'no leader: 100% ✓',
    });
    expect(statusIn({ 'grpc-status': '0' })).toEqual({ code: 0, message: '' });
    expect(statusIn({ 'grpc-status': 'x' })).toEqual({ code: grpcCode.unknown, message: '' });
    expect(statusIn({})).toBeUndefined();
  });

  it('leaves what is not percent-encoded as it came', () => {
    expect(percentDecode('50 % of %zz')).toBe('50 % of %zz');
  });
});
