/**
 * What etcd, or the way to it, said; as the StoreError our callers branch on. etcd's meaning is in the text of its
 * messages more than in the codes, so text decides where one code stands for several things.
 *
 * Always true: a write that may have reached etcd and did not get a clear refusal becomes OutcomeUnknown, never
 * Unavailable. What is no GrpcError and no broken answer (an abort, a StoreError, a bug) passes through as it is.
 */
import { ProtobufError } from '../../../api/protobuf.ts';
import { StoreError, type StoreErrorCode } from '../../errors.ts';
import { GrpcError, grpcCode } from './grpc-status.ts';

/** `what` completes "Cannot ...", such as `read key "a"`. */
export type Asked = { readonly what: string; readonly isRead: boolean };

export function toStoreError(err: unknown, { what, isRead }: Asked): unknown {
  if (err instanceof ProtobufError)
    return new StoreError('Corrupt', `Cannot ${what}: the answer is broken (${err.message})`, { cause: err });
  if (!(err instanceof GrpcError)) return err;
  const refusal = refusalOf(err);
  if (refusal) return new StoreError(refusal, `Cannot ${what}: ${err.message} (${err.endpoint})`, { cause: err });
  if (isRead || !err.wasSent)
    return new StoreError('Unavailable', `Cannot ${what}: ${withEndpoint(err)}`, { cause: err });
  return new StoreError(
    'OutcomeUnknown',
    `Cannot tell whether etcd did what it was asked, to ${what}: it was sent to ${err.endpoint}, then ${err.message}`,
    { cause: err },
  );
}

/** The code of a clear no, after which nothing has changed; undefined if it is not one. */
function refusalOf({ code, message }: GrpcError): StoreErrorCode | undefined {
  switch (code) {
    case grpcCode.outOfRange:
      if (message.includes('has been compacted')) return 'Compacted';
      return message.includes('future revision') ? 'FutureRevision' : 'InvalidArgument';
    case grpcCode.resourceExhausted:
      if (message.includes('database space exceeded')) return 'NoSpace';
      if (message.includes('too many requests')) return 'TooManyRequests';
      return message.includes('larger than max') ? 'InvalidArgument' : undefined;
    case grpcCode.invalidArgument:
      return message.includes('key not found') ? 'KeyNotFound' : 'InvalidArgument';
    case grpcCode.notFound:
      return message.includes('lease') ? 'LeaseNotFound' : 'InvalidArgument';
    case grpcCode.failedPrecondition:
      return message.includes('lease already exists') ? 'LeaseExists' : 'InvalidArgument';
    case grpcCode.dataLoss:
      return 'Corrupt';
    case grpcCode.unimplemented:
    case grpcCode.permissionDenied:
    case grpcCode.unauthenticated:
      return 'Unavailable';
    default:
      return undefined;
  }
}

function withEndpoint({ message, endpoint }: GrpcError): string {
  return message.includes(endpoint) ? message : `${message} (${endpoint})`;
}
