/**
 * A program in a container, by `v5.channel.k8s.io` (or `v4`, of servers before 1.30): each message begins with the number
 * of its stream. Like a child process: who reads one of the two outputs reads both, or asks only for the one; a full one
 * holds up the other.
 *
 * `exited` settles once: with the exit code, or with the error that broke the connection. Standard input can be ended only
 * with v5; with v4 that is an error, for the program would wait for ever.
 */
import { PassThrough, type Readable, Writable } from 'node:stream';
import { ApiError, TransportError } from '../errors.ts';
import type { WebSocketStream } from './websocket.ts';

export const EXEC_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
const CLOSE = 255;
/** Messages no longer than this: servers before us have limits too. */
const PIECE_BYTES = 64 * 1024;

type ExitStatus = {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
};

export class PodProcess implements AsyncDisposable {
  /** Ends nothing but the input; there is none unless it was asked for. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The exit code. Rejects if there is none to be had. */
  readonly exited: Promise<number>;
  readonly #socket: WebSocketStream;
  readonly #request: string;

  constructor(socket: WebSocketStream, request: string) {
    this.#socket = socket;
    this.#request = request;
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    this.stdout = stdout;
    this.stderr = stderr;
    this.stdin = this.#makeStdin();
    this.exited = this.#read(stdout, stderr);
    this.exited.catch(() => {}); // for those who look at the streams alone
  }

  /** Of the terminal, if there is one. */
  async resize(columns: number, rows: number): Promise<void> {
    await this.#socket.send(Buffer.from([RESIZE]), Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  }

  /** Breaks the connection; what becomes of the program is the container runtime's to say. */
  async close(): Promise<void> {
    // Whoever puts something into a full output waits for a reader, and there will be none.
    this.stdout.destroy();
    this.stderr.destroy();
    await this.#socket.close();
    await this.exited.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #makeStdin(): Writable {
    const socket = this.#socket;
    const send = async (chunk: Buffer) => {
      for (let from = 0; from < chunk.length; from += PIECE_BYTES)
        await socket.send(Buffer.from([STDIN]), chunk.subarray(from, from + PIECE_BYTES));
    };
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => void send(chunk).then(() => done(), done),
      final: (done) => {
        if (socket.protocol !== 'v5.channel.k8s.io')
          return done(
            new TransportError('body', `Cannot end the input of ${this.#request}: the server speaks only v4`),
          );
        socket.send(Buffer.from([CLOSE, STDIN])).then(
          () => done(),
          () => done(), // the program has ended before its input
        );
      },
    }).on('error', () => {}); // thrown to whoever writes
  }

  async #read(stdout: PassThrough, stderr: PassThrough): Promise<number> {
    let status: ExitStatus | undefined;
    try {
      for await (const message of this.#socket) {
        const data = message.subarray(1);
        switch (message[0]) {
          case STDOUT:
            await put(stdout, data);
            break;
          case STDERR:
            await put(stderr, data);
            break;
          case ERROR:
            if (data.length > 0) status = statusIn(data, this.#request);
        }
      }
      const code = exitCodeOf(status, this.#request);
      stdout.end();
      stderr.end();
      return code;
    } catch (error) {
      stdout.on('error', () => {}).destroy(error as Error);
      stderr.on('error', () => {}).destroy(error as Error);
      throw error;
    } finally {
      this.stdin.destroy();
      await this.#socket.close();
    }
  }
}

async function put(stream: PassThrough, data: Buffer): Promise<void> {
  if (stream.destroyed || stream.write(data)) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      stream.off('drain', go).off('close', go);
      resolve();
    };
    stream.once('drain', go).once('close', go);
  });
}

function statusIn(data: Buffer, request: string): ExitStatus {
  try {
    return JSON.parse(data.toString()) as ExitStatus;
  } catch (cause) {
    throw new TransportError('body', `Cannot read how ${request} ended: ${(cause as Error).message}`, { cause });
  }
}

function exitCodeOf(status: ExitStatus | undefined, request: string): number {
  if (typeof status !== 'object' || status === null)
    throw new TransportError('body', `Cannot tell how ${request} ended: the connection was closed before`);
  if (status.status === 'Success') return 0;
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  const code = Number(cause?.message);
  if (status.reason === 'NonZeroExitCode' && Number.isInteger(code)) return code;
  throw new ApiError(
    { kind: 'Status', apiVersion: 'v1', metadata: {}, code: 500, ...status } as ApiError['status'],
    request,
  );
}
