/**
 * How the front says no: etcd's code and etcd's words, to the byte, since its clients tell errors by their text.
 */
import { ProtobufError } from '../../api/protobuf.ts';
import { isStoreError, type StoreError } from '../errors.ts';
import { grpcCode } from '../etcd/grpc-status.ts';

export class FrontError extends Error {
  override readonly name = 'FrontError';
  readonly code: number;
  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const { invalidArgument, outOfRange, resourceExhausted, unavailable } = grpcCode;

export const COMPACTED = 'etcdserver: mvcc: required revision has been compacted';

/** What is refused before the store is asked. */
export const refusals: Readonly<Record<RefusalName, () => FrontError>> = {
  emptyKey: () => new FrontError(invalidArgument, 'etcdserver: key is not provided'),
  keyNotFound: () => new FrontError(invalidArgument, 'etcdserver: key not found'),
  valueProvided: () => new FrontError(invalidArgument, 'etcdserver: value is provided'),
  leaseProvided: () => new FrontError(invalidArgument, 'etcdserver: lease is provided'),
  badSort: () => new FrontError(invalidArgument, 'etcdserver: invalid sort option'),
  tooManyOps: () => new FrontError(invalidArgument, 'etcdserver: too many operations in txn request'),
  duplicateKey: () => new FrontError(invalidArgument, 'etcdserver: duplicate key given in txn request'),
  tooLarge: () => new FrontError(invalidArgument, 'etcdserver: request is too large'),
  tooLongLease: () => new FrontError(outOfRange, 'etcdserver: too large lease TTL'),
  compacted: () => new FrontError(outOfRange, COMPACTED),
  nestedTxn: () => notServed('a transaction within a transaction'),
  keepingInTxn: () => notServed('a put that ignores value or lease within a transaction'),
};
type RefusalName =
  | 'emptyKey'
  | 'keyNotFound'
  | 'valueProvided'
  | 'leaseProvided'
  | 'badSort'
  | 'tooManyOps'
  | 'duplicateKey'
  | 'tooLarge'
  | 'tooLongLease'
  | 'compacted'
  | 'nestedTxn'
  | 'keepingInTxn';

function notServed(what: string): FrontError {
  return new FrontError(grpcCode.unimplemented, `longwatch: ${what} is not served`);
}

export function toFrontError(err: unknown): FrontError {
  if (err instanceof FrontError) return err;
  if (err instanceof ProtobufError)
    return new FrontError(grpcCode.internal, `grpc: error unmarshalling: ${err.message}`);
  if (isStoreError(err)) return ofStore(err);
  return new FrontError(grpcCode.internal, err instanceof Error ? err.message : String(err), { cause: err });
}

function ofStore(err: StoreError): FrontError {
  const as = (code: number, text: string) => new FrontError(code, text, { cause: err });
  switch (err.code) {
    case 'Compacted':
      return as(outOfRange, COMPACTED);
    case 'FutureRevision':
      return as(outOfRange, 'etcdserver: mvcc: required revision is a future revision');
    case 'NoSpace':
      return as(resourceExhausted, 'etcdserver: mvcc: database space exceeded');
    case 'TooManyRequests':
      return as(resourceExhausted, 'etcdserver: too many requests');
    case 'LeaseNotFound':
      return as(grpcCode.notFound, 'etcdserver: requested lease not found');
    case 'LeaseExists':
      return as(grpcCode.failedPrecondition, 'etcdserver: lease already exists');
    case 'InvalidArgument':
      return as(invalidArgument, `etcdserver: ${err.message}`);
    case 'Corrupt':
    case 'UnsupportedFormat':
      return as(grpcCode.dataLoss, 'etcdserver: corrupt cluster');
    case 'Closed':
    case 'Unavailable':
    case 'OutcomeUnknown':
    case 'Locked':
    case 'ReadOnly':
      return as(unavailable, 'etcdserver: server stopped');
  }
}
