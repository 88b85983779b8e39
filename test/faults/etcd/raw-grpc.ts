/** gRPC frame by frame, for what no client of gRPC would send. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';

export const framed = (message: Uint8Array, format = 0, length = message.length): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix[0] = format;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
};

export type RawEnd = {
  readonly status: string;
  readonly message: string;
  readonly bytes: number;
  readonly reset: number;
};

export class RawGrpc implements Disposable {
  readonly session: ClientHttp2Session;

  constructor(url: string, windowBytes?: number) {
    this.session = connect(url, windowBytes === undefined ? {} : { settings: { initialWindowSize: windowBytes } });
    this.session.on('error', () => {});
  }

  open(method: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
    const stream = this.session.request({
      ...{ ':method': 'POST', ':path': `/etcdserverpb.${method}`, 'content-type': 'application/grpc', te: 'trailers' },
      ...headers,
    });
    stream.on('error', () => {});
    return stream;
  }

  /** Sends the bytes as they are and waits for the end of the call. */
  async call(method: string, chunks: readonly Uint8Array[], headers: OutgoingHttpHeaders = {}): Promise<RawEnd> {
    const stream = this.open(method, headers);
    const end = this.end(stream);
    for (const chunk of chunks)
      if (!stream.write(chunk)) await Promise.race([new Promise((resolve) => stream.once('drain', resolve)), end]);
    stream.end();
    return end;
  }

  async end(stream: ClientHttp2Stream): Promise<RawEnd> {
    let status = '';
    let message = '';
    let bytes = 0;
    const read = (headers: { [name: string]: unknown }) => {
      if (headers['grpc-status'] === undefined) return;
      status = String(headers['grpc-status']);
      message = String(headers['grpc-message'] ?? '');
    };
    stream.on('response', read);
    stream.on('trailers', read);
    stream.on('data', (data: Buffer) => {
      bytes += data.length;
    });
    if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
    return { status, message, bytes, reset: stream.rstCode };
  }

  [Symbol.dispose](): void {
    this.session.destroy();
  }
}
