/**
 * The load generator's HTTP/1.1: one request at a time on one TLS connection, answers counted and not decoded. It does
 * no more than it must, since it shares the machine with what it measures; the same code asks the server and bare Node.
 */
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { type Done, type FlightOptions, inFlight } from '../../lib/measure.ts';

export type Answer = {
  readonly status: number;
  readonly bytes: number;
  /** The first part of the body; all of it where everything was asked for. */
  readonly body: Buffer;
};

/** Where to ask, and as whom. */
export type Endpoint = { readonly port: number; readonly token: string };

const KEPT_BYTES = 64 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');

export function requestHead(method: string, path: string, token: string, bodyBytes?: number): string {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json'; // all patches here are applies
  const length = bodyBytes === undefined ? '' : `Content-Type: ${type}\r\nContent-Length: ${bodyBytes}\r\n`;
  const who = `Authorization: Bearer ${token}\r\nUser-Agent: longwatch-bench\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${who}Accept: application/json\r\n${length}\r\n`;
}

export async function connectTls(port: number, alpn: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ALPNProtocols: [alpn], rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  socket.setNoDelay(true);
  return socket;
}

export class Client {
  readonly #socket: TLSSocket;
  readonly #token: string;
  #settle: ((answer: Answer | Error) => void) | undefined;
  #head: Buffer | undefined = Buffer.alloc(0);
  #status = 0;
  #bytes = 0;
  #left = 0;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #keepLimit = KEPT_BYTES;

  private constructor(socket: TLSSocket, token: string) {
    this.#socket = socket;
    this.#token = token;
    socket.on('data', (part: Buffer) => this.#take(part));
    socket.on('error', (err) => this.#finish(err));
    socket.on('close', () => this.#finish(new Error('Cannot read the answer: the connection was closed')));
  }

  static async open({ port, token }: Endpoint): Promise<Client> {
    return new Client(await connectTls(port, 'http/1.1'), token);
  }

  request(method: string, path: string, body?: Buffer, keepsAll = false): Promise<Answer> {
    this.#keepLimit = keepsAll ? Number.POSITIVE_INFINITY : KEPT_BYTES;
    return new Promise((resolve, reject) => {
      this.#settle = (answer) => (answer instanceof Error ? reject(answer) : resolve(answer));
      const head = requestHead(method, path, this.#token, body?.length);
      if (!body) this.#socket.write(head, 'latin1');
      else this.#socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
    });
  }

  /** As `request`, but anything other than success is an error. */
  async must(method: string, path: string, body?: Buffer, keepsAll = false): Promise<Answer> {
    const answer = await this.request(method, path, body, keepsAll);
    if (answer.status >= 300)
      throw new Error(`Cannot ${method} ${path}: ${answer.status} ${answer.body.toString('utf8', 0, 500)}`);
    return answer;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(part: Buffer): void {
    if (!this.#head) {
      this.#takeBody(part);
      return;
    }
    const head = this.#head.length === 0 ? part : Buffer.concat([this.#head, part]);
    const end = head.indexOf(HEAD_END);
    if (end < 0) {
      this.#head = head;
      return;
    }
    const text = head.toString('latin1', 0, end);
    this.#head = undefined;
    this.#status = Number(text.slice(9, 12));
    this.#bytes = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
    this.#left = this.#bytes;
    this.#takeBody(head.subarray(end + HEAD_END.length));
  }

  #takeBody(part: Buffer): void {
    this.#left -= part.length;
    if (this.#keptBytes < this.#keepLimit) {
      this.#kept.push(part);
      this.#keptBytes += part.length;
    }
    if (this.#left > 0) return;
    const body = this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept);
    const answer = { status: this.#status, bytes: this.#bytes, body };
    this.#head = Buffer.alloc(0);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#finish(answer);
  }

  #finish(answer: Answer | Error): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(answer);
  }
}

/** Nothing that a number of connections is divided by. */
const STRIDE = 53;

/** Connections that take requests in turn, so that as many can be under way as there are. */
export class ClientPool implements Disposable {
  readonly #all: readonly Client[];
  readonly #free: Client[];
  readonly #next: 'warmest' | 'coldest';

  private constructor(clients: Client[], next: 'warmest' | 'coldest') {
    this.#all = clients;
    this.#free = [...clients];
    this.#next = next;
  }

  /** The one that was used last takes the next request. */
  static async open(endpoint: Endpoint, size: number): Promise<ClientPool> {
    return new ClientPool(await Promise.all(Array.from({ length: size }, () => Client.open(endpoint))), 'warmest');
  }

  /**
   * For a server of several threads: they take turns, and who is next to another came long after it, since neighbours are often
   * on the same thread.
   */
  static async openSpread(endpoint: Endpoint, size: number): Promise<ClientPool> {
    const opened = await Promise.all(Array.from({ length: size }, () => Client.open(endpoint)));
    const far = opened.map((_, i) => opened[(i * STRIDE) % size]!);
    return new ClientPool(far, 'coldest');
  }

  get first(): Client {
    return this.#all[0]!;
  }

  /** `work(0)` to `work(count - 1)`, `width` of them at once, each on a connection of its own. */
  run(
    count: number,
    width: number,
    work: (client: Client, i: number) => Promise<unknown>,
    options: FlightOptions,
  ): Promise<Done> {
    const one = async (i: number) => {
      const client = (this.#next === 'warmest' ? this.#free.pop() : this.#free.shift())!;
      await work(client, i);
      this.#free.push(client);
    };
    return inFlight(count, Math.min(width, this.#all.length), one, options);
  }

  [Symbol.dispose](): void {
    for (const client of this.#all) client.close();
  }
}
