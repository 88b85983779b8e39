/**
 * How a gRPC call ends badly: a status code, a sentence, and the one thing a writer must know besides: whether the
 * server can have seen the request.
 *
 * Always true: `wasSent: false` is said only where no byte of the request can have been acted on: there was no
 * connection, or the peer itself said that it did not touch the stream (REFUSED_STREAM, GOAWAY below it).
 */
import { constants, type IncomingHttpHeaders } from 'node:http2';

export const grpcCode = {
  ok: 0,
  canceled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

export type GrpcErrorOptions = ErrorOptions & { wasSent: boolean; endpoint: string };

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: number;
  readonly wasSent: boolean;
  /** Where it was asked, for the sentence that is told to the user. */
  readonly endpoint: string;

  constructor(code: number, message: string, options: GrpcErrorOptions) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.wasSent = options.wasSent;
    this.endpoint = options.endpoint;
  }
}

/** The status in a block of headers or trailers; undefined if there is none. */
export function statusIn(headers: IncomingHttpHeaders): { code: number; message: string } | undefined {
  const status = headers['grpc-status'];
  if (status === undefined) return undefined;
  const code = Number(status);
  const message = headers['grpc-message'];
  return {
    code: Number.isInteger(code) ? code : grpcCode.unknown,
    message: typeof message === 'string' ? percentDecode(message) : '',
  };
}

/** What an answer without any gRPC status means, from its HTTP status: a proxy, or no gRPC server at all. */
export function codeOfHttpStatus(status: number): number {
  switch (status) {
    case 400:
      return grpcCode.internal;
    case 401:
      return grpcCode.unauthenticated;
    case 403:
      return grpcCode.permissionDenied;
    case 404:
      return grpcCode.unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return grpcCode.unavailable;
    default:
      return grpcCode.unknown;
  }
}

/**
 * What a stream that was reset means, by the table of the gRPC protocol for HTTP/2 error codes, but for CANCEL: it is
 * what Node says of the streams of a socket that was closed. Our own cancelling is not asked here.
 */
export function codeOfReset(rstCode: number): number {
  switch (rstCode) {
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return grpcCode.resourceExhausted;
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return grpcCode.permissionDenied;
    default:
      return grpcCode.unavailable;
  }
}

/** Bytes as %XX, everything else as it is; what is not valid stays as it came. */
export function percentDecode(message: string): string {
  if (!message.includes('%')) return message;
  const text = message.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1').toString('utf8');
}
