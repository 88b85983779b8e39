/**
 * A plain client of the API over real TLS, by HTTP/1.1 or HTTP/2: one method per verb, answers as objects, refusals as
 * StatusErrors. It adds nothing: no retries, no cache, no conversion, so that a test sees what the server says.
 */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { Agent, request } from 'node:https';
import type { Readable } from 'node:stream';
import { type KubeObject, type Status, StatusError } from '../api/index.ts';
import { WatchStream } from './watch-stream.ts';

export type ApiClientOptions = {
  readonly url: string;
  /** The authority's certificate, PEM. */
  readonly ca: string;
  /** Without it, nobody in particular asks. */
  readonly token?: string;
  /** http1 */
  readonly protocol?: 'http1' | 'http2';
  /** Connections of HTTP/1.1 at once, watches not counted; 32. */
  readonly maxSockets?: number;
};

export type Query = Readonly<Record<string, string | number | boolean>>;
export type Ask = {
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: object | string | Buffer;
  readonly signal?: AbortSignal;
};
export type Answer = {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
};
export type ObjectList = {
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: KubeObject[];
};

type Opened = { readonly status: number; readonly headers: Answer['headers']; readonly body: Readable };

const STREAMS_PER_SESSION = 90;

export class ApiClient implements AsyncDisposable {
  readonly #options: ApiClientOptions;
  readonly #agent: Agent;
  readonly #watchAgent: Agent;
  readonly #sessions = new Map<ClientHttp2Session, number>();

  constructor(options: ApiClientOptions) {
    this.#options = options;
    const { ca, maxSockets = 32 } = options;
    this.#agent = new Agent({ keepAlive: true, ca, maxSockets });
    this.#watchAgent = new Agent({ ca });
  }

  get(path: string, query?: Query): Promise<KubeObject> {
    return this.#object('GET', path, { ...(query && { query }) });
  }

  list(path: string, query?: Query): Promise<ObjectList> {
    return this.#object('GET', path, { ...(query && { query }) }) as Promise<unknown> as Promise<ObjectList>;
  }

  create(path: string, object: object): Promise<KubeObject> {
    return this.#object('POST', path, { body: object });
  }

  update(path: string, object: object): Promise<KubeObject> {
    return this.#object('PUT', path, { body: object });
  }

  /** A merge patch. */
  patch(path: string, patch: object): Promise<KubeObject> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.#object('PATCH', path, { body: patch, headers });
  }

  delete(path: string, options?: object, query?: Query): Promise<KubeObject> {
    return this.#object('DELETE', path, { ...(options && { body: options }), ...(query && { query }) });
  }

  /** Resolves as soon as the server has opened the stream. */
  async watch(path: string, query: Query = {}, ask: Omit<Ask, 'query' | 'body'> = {}): Promise<WatchStream> {
    const opened = await this.#open('GET', path, { ...ask, query: { watch: 1, ...query } }, this.#watchAgent);
    if (opened.status === 200) return new WatchStream(opened.body);
    throw refusal({ ...opened, body: await whole(opened.body) });
  }

  /** Whatever the answer is; throws only if there is none. */
  async ask(method: string, path: string, ask: Ask = {}): Promise<Answer> {
    const { status, headers, body } = await this.#open(method, path, ask, this.#agent);
    return { status, headers, body: await whole(body) };
  }

  /** Breaks every connection. */
  close(): void {
    this.#agent.destroy();
    this.#watchAgent.destroy();
    const sessions = [...this.#sessions.keys()];
    setImmediate(() => {
      for (const session of sessions) session.destroy(); // Node 20 must not do it in the turn in which a stream is reset
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  async #object(method: string, path: string, ask: Ask): Promise<KubeObject> {
    const answer = await this.ask(method, path, ask);
    if (answer.status >= 300) throw refusal(answer);
    return JSON.parse(answer.body.toString('utf8')) as KubeObject;
  }

  #open(method: string, path: string, ask: Ask, agent: Agent): Promise<Opened> {
    const { token, protocol } = this.#options;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(ask.query ?? {})) search.set(name, String(value));
    const fullPath = search.size > 0 ? `${path}?${search}` : path;
    const isPlain = typeof ask.body === 'string' || Buffer.isBuffer(ask.body);
    const body = isPlain ? (ask.body as string | Buffer) : ask.body && JSON.stringify(ask.body);
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...ask.headers,
    };
    return protocol === 'http2'
      ? this.#open2({ ':method': method, ':path': fullPath, ...headers }, body, ask.signal)
      : this.#open1(method, fullPath, headers, body, agent, ask.signal);
  }

  #open1(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: string | Buffer | undefined,
    agent: Agent,
    signal?: AbortSignal,
  ): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const url = new URL(this.#options.url);
      const where = { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, path };
      const sized = body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
      const sent = request({ ...where, method, headers: sized, agent, ...(signal && { signal }) }, (response) =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response }),
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async #open2(headers: Record<string, string>, body: string | Buffer | undefined, signal?: AbortSignal) {
    const session = this.#sessionWithRoom();
    this.#sessions.set(session, (this.#sessions.get(session) ?? 0) + 1);
    const stream: ClientHttp2Stream = session.request(headers, { endStream: body === undefined });
    stream.once('close', () => {
      const left = (this.#sessions.get(session) ?? 1) - 1;
      if (this.#sessions.has(session)) this.#sessions.set(session, left);
    });
    if (body !== undefined) stream.end(body);
    const answered = once(stream, 'response', { ...(signal && { signal }) }).catch((err: unknown) => {
      stream.close(constants.NGHTTP2_CANCEL); // who gives up says so
      throw err;
    });
    const [got] = (await answered) as [Answer['headers']];
    return { status: Number(got[':status']), headers: got, body: stream };
  }

  #sessionWithRoom(): ClientHttp2Session {
    for (const [session, open] of this.#sessions)
      if (open < STREAMS_PER_SESSION && !session.closed && !session.destroyed) return session;
    const session = connect(this.#options.url, { ca: this.#options.ca });
    session.on('error', () => {}); // every stream tells its own reader
    session.once('close', () => this.#sessions.delete(session));
    this.#sessions.set(session, 0);
    return session;
  }
}

async function whole(body: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

/** What a refusal says; a body that is no Status is its message. */
function refusal({ status, body }: Answer): StatusError {
  const text = body.toString('utf8');
  try {
    const parsed = JSON.parse(text) as Partial<Status>;
    if (parsed.kind === 'Status')
      return new StatusError({
        code: parsed.code ?? status,
        message: parsed.message ?? '',
        ...(parsed.reason !== undefined && { reason: parsed.reason }),
        ...(parsed.details && { details: parsed.details }),
        ...(parsed.metadata && { metadata: parsed.metadata }),
      });
  } catch {
    // It is text; that is told below.
  }
  return new StatusError({ code: status, message: text.trim() });
}
