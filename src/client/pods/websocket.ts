/**
 * A WebSocket to an API server: opened with the client's credentials, refusals as ApiError, messages as an async iterable.
 *
 * Nothing is read beyond the socket's buffer until it is asked for, and sending waits for room. A ping goes out every half
 * minute so that a quiet connection is not taken for a dead one; one whose peer did not answer the last ping is broken.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { type Clock, closeOnce } from '../../api/index.ts';
import { TransportError } from '../errors.ts';
import type { Transport } from '../transport/transport.ts';
import type { Query, UpgradedConnection } from '../transport/transport-options.ts';
import { FrameReader, frame, OPCODE } from './websocket-frames.ts';

export type WebSocketOptions = {
  readonly protocols: readonly string[];
  readonly query?: Query | undefined;
  readonly signal?: AbortSignal | undefined;
};

const LIMIT_MESSAGE_BYTES = 16 * 1024 * 1024;
const PING_MS = 30_000;
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'; // RFC 6455, 1.3
const NORMAL = 1000;

export async function openWebSocket(
  transport: Transport,
  path: string,
  options: WebSocketOptions,
): Promise<WebSocketStream> {
  const { protocols, query, signal } = options;
  const key = randomBytes(16).toString('base64');
  const headers = {
    'sec-websocket-key': key,
    'sec-websocket-version': '13',
    'sec-websocket-protocol': protocols.join(', '),
  };
  const connection = await transport.upgrade(path, 'websocket', { query, signal, headers, accept: '*/*' });
  const { socket } = connection;
  const accepted = createHash('sha1').update(`${key}${GUID}`).digest('base64');
  const protocol = String(connection.headers['sec-websocket-protocol'] ?? '');
  const isOurs = connection.headers['sec-websocket-accept'] === accepted && protocols.includes(protocol);
  if (isOurs) return new WebSocketStream(connection, protocol, transport.clock);
  socket.destroy();
  throw new TransportError('headers', `Cannot open ${path}: the server speaks none of ${protocols.join(', ')}`);
}

export class WebSocketStream implements AsyncIterable<Buffer> {
  readonly protocol: string;
  readonly #connection: UpgradedConnection;
  readonly #socket: Duplex;
  readonly #reader = new FrameReader(LIMIT_MESSAGE_BYTES);
  readonly #ended = new AbortController();
  #isAnswered = true;
  #hasClosed = false;
  readonly close: () => Promise<void> = closeOnce(() => this.#close());

  constructor(connection: UpgradedConnection, protocol: string, clock: Clock) {
    this.protocol = protocol;
    this.#connection = connection;
    this.#socket = connection.socket;
    this.#socket.once('close', () => this.#ended.abort());
    this.#keepAlive(clock).catch(() => {}); // it ends with the socket
  }

  /** Until either side closes; throws if the connection breaks. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    try {
      for await (const chunk of this.#socket as AsyncIterable<Buffer>) {
        let ping: Buffer | undefined;
        for (const { opcode, data } of this.#reader.take(chunk)) {
          if (opcode === OPCODE.ping) ping = data;
          else if (opcode === OPCODE.pong) this.#isAnswered = true;
          else if (opcode === OPCODE.close) return void (await this.#closed(data));
          else yield data;
        }
        // Of those that came together the last: RFC 6455, 5.5.3.
        if (ping) await this.#write(OPCODE.pong, ping);
      }
      if (!this.#hasClosed) throw new Error('the connection ended without a word');
    } catch (error) {
      if (!this.#hasClosed) throw this.#connection.errorOf(error);
    } finally {
      this.#socket.destroy();
    }
  }

  /** Waits until there is room for more. */
  async send(...parts: readonly Buffer[]): Promise<void> {
    await this.#write(OPCODE.binary, parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  async #write(opcode: number, data: Buffer): Promise<void> {
    if (this.#socket.destroyed || this.#socket.writableEnded) throw this.#connection.errorOf(new Error('it is closed'));
    if (this.#socket.write(frame(opcode, data))) return;
    try {
      await once(this.#socket, 'drain', { signal: this.#ended.signal });
    } catch (error) {
      throw this.#connection.errorOf(error);
    }
  }

  /** The peer has closed: it is told that we have heard. A code that means trouble is thrown. */
  async #closed(data: Buffer): Promise<void> {
    const code = data.length >= 2 ? data.readUInt16BE(0) : NORMAL;
    if (!this.#socket.writableEnded) this.#socket.end(frame(OPCODE.close, data.subarray(0, 2)));
    this.#hasClosed = true;
    if (code === NORMAL || code === 1001 || code === 1005) return;
    this.#hasClosed = false;
    throw new Error(`the server closed it with ${code} ${data.toString('utf8', 2)}`.trimEnd());
  }

  async #close(): Promise<void> {
    if (this.#socket.destroyed) return;
    this.#hasClosed = true;
    const code = Buffer.from([NORMAL >> 8, NORMAL & 0xff]);
    const closed = once(this.#socket, 'close').catch(() => {});
    this.#socket.end(frame(OPCODE.close, code), () => this.#socket.destroy());
    await closed;
  }

  async #keepAlive(clock: Clock): Promise<void> {
    for (;;) {
      await clock.sleep(PING_MS, this.#ended.signal);
      if (!this.#isAnswered) this.#socket.destroy(new Error(`no answer to a ping within ${PING_MS} ms`));
      // A reader who does not read sees no pong: that is no fault of the peer's.
      this.#isAnswered = this.#socket.readableLength > 0;
      await this.#write(OPCODE.ping, Buffer.alloc(0));
    }
  }
}
