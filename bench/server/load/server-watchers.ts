/**
 * The load generator's watches, over HTTP/1.1 or HTTP/2: events are counted, not decoded. An event is a line, and the
 * line feeds of HTTP/1.1's own frames are told apart by what stands before them.
 *
 * A watch that ends or is refused fails whoever waits next.
 */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { connectTls, type Endpoint, requestHead } from './server-client.ts';

const LINE_FEED = 0x0a;
const BRACE = 0x7d;
const AT_ONCE = 32;
const WINDOW_BYTES = 4 * 1024 * 1024;

/** The watcher's number, and how many events have just come. */
export type OnEvents = (watcher: number, events: number) => void;

export class Watchers implements Disposable {
  readonly counts: Uint32Array;
  total = 0;
  #onEvents: OnEvents | undefined;
  #waiting: { readonly total: number; readonly resolve: () => void } | undefined;
  #fail: ((err: Error) => void) | undefined;
  #failure: Error | undefined;
  #closers: (() => void)[] = [];

  private constructor(size: number) {
    this.counts = new Uint32Array(size);
  }

  /** One connection per path, a few at a time as over HTTP/2. All have an answer on return. */
  static async overHttp1({ port, token }: Endpoint, paths: readonly string[]): Promise<Watchers> {
    const watchers = new Watchers(paths.length);
    await inGroups(
      paths.map((path, i) => ({ path, i })),
      async ({ path, i }) => {
        const socket = await connectTls(port, 'http/1.1');
        watchers.#closers.push(() => void socket.destroy());
        await watchers.#askHttp1(i, socket, requestHead('GET', path, token));
      },
    );
    return watchers;
  }

  /** The connections only; with `ask` all ask at once. */
  static async connectHttp1(
    { port, token }: Endpoint,
    paths: readonly string[],
  ): Promise<{ watchers: Watchers; ask: () => Promise<unknown> }> {
    const watchers = new Watchers(paths.length);
    const sockets = await inGroups(paths, () => connectTls(port, 'http/1.1'));
    watchers.#closers = sockets.map((socket) => () => void socket.destroy());
    const askOne = (socket: TLSSocket, i: number) =>
      watchers.#askHttp1(i, socket, requestHead('GET', paths[i]!, token));
    return { watchers, ask: () => Promise.all(sockets.map(askOne)) };
  }

  static async overHttp2(
    { port, token }: Endpoint,
    paths: readonly string[],
    streamsPerConnection: number,
  ): Promise<Watchers> {
    const watchers = new Watchers(paths.length);
    const firsts = paths.flatMap((_, i) => (i % streamsPerConnection === 0 ? [i] : []));
    const sessions = await inGroups(firsts, () => openSession(port));
    watchers.#closers = sessions.map((session) => () => session.destroy());
    const ask = (path: string, i: number) =>
      watchers.#askHttp2(i, sessions[Math.floor(i / streamsPerConnection)]!, path, token);
    await inGroups(
      paths.map((path, i) => ({ path, i })),
      ({ path, i }) => ask(path, i),
    );
    return watchers;
  }

  onEvents(listener: OnEvents | undefined): void {
    this.#onEvents = listener;
  }

  /** Resolves when so many events have come to all watchers together, since they were opened. */
  async reached(total: number): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (this.total >= total) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting = { total, resolve };
      this.#fail = reject;
    });
  }

  [Symbol.dispose](): void {
    this.#failure = new Error('Cannot wait for events: the watches were closed');
    for (const close of this.#closers) close();
  }

  #askHttp1(watcher: number, socket: TLSSocket, head: string): Promise<void> {
    return new Promise((resolve, reject) => {
      let before = 0;
      let isBegun = false;
      socket.on('data', (part: Buffer) => {
        if (!isBegun) {
          isBegun = true;
          const text = part.toString('latin1', 0, 12);
          if (text === 'HTTP/1.1 200') resolve();
          else reject(new Error(`Cannot watch: ${part.toString('latin1', 0, 1000)}`));
        }
        const events = countEvents(part, before);
        before = part[part.length - 1]!;
        if (events > 0) this.#count(watcher, events);
      });
      socket.on('error', reject);
      socket.on('close', () => {
        reject(new Error('Cannot watch: the connection was closed'));
        this.#broke();
      });
      socket.write(head, 'latin1');
    });
  }

  #askHttp2(watcher: number, session: ClientHttp2Session, path: string, token: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const stream = session.request({ ':path': path, authorization: `Bearer ${token}`, accept: 'application/json' });
      let before = 0;
      stream.on('response', (headers) => {
        if (headers[':status'] === 200) resolve();
        else reject(new Error(`Cannot watch: ${JSON.stringify(headers)}`));
      });
      stream.on('data', (part: Buffer) => {
        const events = countEvents(part, before);
        before = part[part.length - 1]!;
        if (events > 0) this.#count(watcher, events);
      });
      stream.on('error', reject);
      stream.on('close', () => {
        reject(new Error('Cannot watch: the stream was closed'));
        this.#broke();
      });
    });
  }

  #count(watcher: number, events: number): void {
    this.counts[watcher]! += events;
    this.total += events;
    this.#onEvents?.(watcher, events);
    if (!this.#waiting || this.total < this.#waiting.total) return;
    this.#waiting.resolve();
    this.#waiting = undefined;
  }

  #broke(): void {
    this.#failure ??= new Error('Cannot count events: a watch was ended by the server');
    this.#fail?.(this.#failure);
  }
}

async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    maxSessionMemory: 256,
    settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
  });
  await once(session, 'connect');
  session.setLocalWindowSize(4 * WINDOW_BYTES);
  session.on('error', () => {});
  return session;
}

/** How many lines of JSON end in `part`; `before` is the byte that came before it. */
function countEvents(part: Buffer, before: number): number {
  let events = 0;
  for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1))
    if ((at === 0 ? before : part[at - 1]) === BRACE) events++;
  return events;
}

/** A few at a time: thousands of handshakes at once would wait for each other until they are given up. */
async function inGroups<In, Out>(items: readonly In[], open: (item: In) => Promise<Out>): Promise<Out[]> {
  const opened: Out[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    opened.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(open))));
  return opened;
}
