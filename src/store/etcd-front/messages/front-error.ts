/**
 * How the front says no: etcd's code and etcd's words, to the byte, since its clients tell errors by their text.
 */
import { ProtobufError } from '../../../api/protobuf.ts';
import { isStoreError, type StoreError } from '../../errors.ts';
import { grpcCode } from '../../etcd/grpc/grpc-status.ts';

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
const NO_SUCH_LEASE = 'etcdserver: requested lease not found';

const invalid = (text: string) => () => new FrontError(invalidArgument, `etcdserver: ${text}`);

/** What is refused before the store is asked. */
export const refusals: Refusals = {
  emptyKey: invalid('key is not provided'),
  keyNotFound: invalid('key not found'),
  valueProvided: invalid('value is provided'),
  leaseProvided: invalid('lease is provided'),
  badSort: invalid('invalid sort option'),
  tooManyOps: invalid('too many operations in txn request'),
  duplicateKey: invalid('duplicate key given in txn request'),
  tooLarge: invalid('request is too large'),
  tooLongLease: () => new FrontError(outOfRange, 'etcdserver: too large lease TTL'),
  compacted: () => new FrontError(outOfRange, COMPACTED),
  noSuchLease: () => new FrontError(grpcCode.notFound, NO_SUCH_LEASE),
  tooManyRequests: () => new FrontError(resourceExhausted, 'etcdserver: too many requests'),
  messageTooLarge: (bytes, most) =>
    new FrontError(resourceExhausted, `grpc: received message larger than max (${bytes} vs. ${most})`),
  answerTooLarge: (bytes, most) =>
    new FrontError(resourceExhausted, `grpc: trying to send message larger than max (${bytes} vs. ${most})`),
  unknownEncoding: (name) =>
    new FrontError(
      grpcCode.unimplemented,
      `grpc: Decompressor is not installed for grpc-encoding ${JSON.stringify(name)}`,
    ),
};
type Refusals = Readonly<
  Record<
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
    | 'noSuchLease'
    | 'tooManyRequests',
    () => FrontError
  > &
    Record<'messageTooLarge' | 'answerTooLarge', (bytes: number, most: number) => FrontError> &
    Record<'unknownEncoding', (name: string) => FrontError>
>;

export function toFrontError(err: unknown): FrontError {
  if (err instanceof FrontError) return err;
  if (err instanceof ProtobufError)
    return new FrontError(grpcCode.internal, `grpc: error unmarshalling request: ${err.message}`);
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
    case 'KeyNotFound':
      return as(invalidArgument, 'etcdserver: key not found');
    case 'LeaseNotFound':
      return as(grpcCode.notFound, NO_SUCH_LEASE);
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
