/**
 * One component's connection, as client-go has it: HTTP/2, requests and watches as streams of it. Bodies of answers are kept,
 * events are counted and, where asked for, looked through for the mark of when they were written; nothing is decoded.
 */
import { once } from 'node:events';
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2';
import type { Endpoint } from '../load/server-client.ts';

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const MARK_BYTES = Buffer.from('"bench.longwatch/sent":"');
const WINDOW_BYTES = 1024 * 1024;

export type Identity = { readonly user: string; readonly groups: readonly string[] };

export type Answer = { readonly status: number; readonly body: string };

export type WatchEars = {
  readonly onEvents: (events: number, bytes: number) => void;
  /** A write that was marked `sentMs` is told of. */
  readonly onMark?: (sentMs: number) => void;
  /** Every event as it came. */
  readonly onObject?: (event: string) => void;
  readonly onGone: () => void;
  readonly onCutOff: () => void;
};

/** An annotation that says when an object was written. */
export function sentMark(): Record<string, string> {
  return { 'bench.longwatch/sent': performance.now().toFixed(3) };
}

export class ClusterConnection {
  readonly #session: ClientHttp2Session;
  readonly #headers: OutgoingHttpHeaders;
  #isClosing = false;

  private constructor(session: ClientHttp2Session, headers: OutgoingHttpHeaders) {
    this.#session = session;
    this.#headers = headers;
  }

  static async open({ port, token }: Endpoint, { user, groups }: Identity): Promise<ClusterConnection> {
    const session = connect(`https://127.0.0.1:${port}`, {
      rejectUnauthorized: false,
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
    });
    await once(session, 'connect');
    session.on('error', () => {}); // its streams say it
    const who = { 'impersonate-user': user, 'impersonate-group': [...groups] };
    return new ClusterConnection(session, { authorization: `Bearer ${token}`, accept: 'application/json', ...who });
  }

  request(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { ...this.#headers, ':method': method, ':path': path, ...(body && { 'content-type': type }) };
      const stream = this.#session.request(headers, { endStream: !body }); // Node would end that of a DELETE itself
      let status = 0;
      let text = '';
      stream.setEncoding('latin1');
      stream.on('response', (headers) => {
        status = Number(headers[':status']);
      });
      stream.on('data', (part: string) => {
        text += part;
      });
      stream.on('error', reject);
      stream.on('close', () =>
        status ? resolve({ status, body: text }) : reject(new Error('Cannot read: the stream was closed')),
      );
      if (body) stream.end(JSON.stringify(body));
    });
  }

  /** Resolves when it has begun. */
  watch(path: string, ears: WatchEars): Promise<void> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({ ...this.#headers, ':path': path });
      stream.on('response', (headers) => {
        if (headers[':status'] === 200) resolve();
        else reject(new Error(`Cannot watch ${path}: ${headers[':status']}`));
      });
      stream.on('data', hearing(ears));
      stream.on('error', reject);
      stream.on('close', () => {
        reject(new Error('Cannot watch: the stream was closed'));
        if (!this.#isClosing) ears.onCutOff();
      });
    });
  }

  close(): void {
    this.#isClosing = true;
    this.#session.destroy();
  }
}

/** Hears the parts of one stream, in order. */
function hearing({ onEvents, onMark, onObject, onGone }: WatchEars): (part: Buffer) => void {
  let rest = '';
  const show = (text: string) => {
    onObject!(rest + text);
    rest = '';
  };
  return (part) => {
    let events = 0;
    let begin = 0;
    for (let end = part.indexOf(LINE_FEED); end >= 0; end = part.indexOf(LINE_FEED, begin)) {
      events++;
      if (onObject) show(part.toString('latin1', begin, end));
      begin = end + 1;
    }
    if (onObject) rest += part.toString('latin1', begin);
    onEvents(events, part.length);
    if (events === 1 && part.length < 1000 && part.includes('"type":"ERROR"') && part.includes('"code":410')) onGone();
    if (onMark) for (const sentMs of marksIn(part)) onMark(sentMs);
  };
}

/** An object that is going shows the mark of the write before, and is left out, as is one whose mark is cut in two. */
function* marksIn(part: Buffer): Generator<number, void, void> {
  for (let at = part.indexOf(MARK_BYTES); at >= 0; at = part.indexOf(MARK_BYTES, at + MARK_BYTES.length)) {
    const line = part.lastIndexOf(LINE_FEED, at) + 1;
    const before = part.toString('latin1', line, at);
    if (before.includes('"DELETED"') || before.includes('"deletionTimestamp"')) continue;
    const from = at + MARK_BYTES.length;
    const end = part.indexOf(QUOTE, from);
    if (end > 0) yield Number(part.toString('latin1', from, end));
  }
}
