/**
 * One request on its way through a FaultProxy: sent on to the server, its answer sent back piece by piece, so that a test
 * can break it anywhere.
 *
 * What is always true: a fault strikes from the next byte on. A client that goes takes its request to the server with it;
 * a server that breaks off breaks the client's connection too, unless that is stalled: a stalled client is told nothing,
 * not even that. A client that takes JSON besides another form gets watches in JSON: an event of our own can be put into those.
 */
import { request as askPlain, type IncomingMessage, type Agent as PlainAgent, type ServerResponse } from 'node:http';
import { type Agent, request as askTls } from 'node:https';
import { systemClock } from '../../api/index.ts';

/** What a request is for; a test chooses by it whom a fault shall strike. */
export type ProxiedRequest = {
  /** From 1, in the order of arrival. */
  readonly number: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly userAgent: string;
  /** `read` is of one object, and of everything that is no resource. */
  readonly kind: 'watch' | 'list' | 'read' | 'write';
  /** What the client was answered; undefined before that, and if it was not. */
  readonly code: number | undefined;
  /** What was done to it, in order: `cut`, `answered 503`, `sent ERROR 410`, ... */
  readonly faults: readonly string[];
};

/** The state of the line, which holds for all requests. */
export type Line = {
  /** Before a request is sent on. Infinity: it never is. */
  delayMs: number;
  /** Answers come in pieces of this size; 0 is whole. */
  pieceBytes: number;
  /** Between two pieces. */
  pieceMs: number;
};

/** How the server is reached. */
export type Way =
  | { readonly url: string; readonly agent: Agent }
  | { readonly url: string; readonly plainAgent: PlainAgent };

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'upgrade']);

export class FaultExchange {
  readonly request: ProxiedRequest & { code: number | undefined; faults: string[] };
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #reset: () => void;
  readonly #gone = new AbortController();
  #upstream: IncomingMessage | undefined;
  #isStalled = false;
  #isEmptied = false;
  #next: 'truncate' | 'garble' | undefined;
  /** The last byte that was sent ended a line, so an event of our own may follow. */
  #isAtLineEnd = true;
  #event: { readonly text: string; readonly isLast: boolean } | undefined;

  /** `reset` breaks the client's connection. */
  constructor(number: number, incoming: IncomingMessage, response: ServerResponse, reset: () => void) {
    this.#incoming = incoming;
    this.#response = response;
    this.#reset = reset;
    this.request = describe(number, incoming);
    response.on('error', () => {});
    response.once('close', () => this.#leave());
  }

  get isOver(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Answers in the place of the server. */
  answer(code: number, headers: Record<string, string>, body: string): void {
    this.request.faults.push(`answered ${code}`);
    this.request.code = code;
    this.#incoming.resume();
    this.#response.writeHead(code, headers).end(body);
  }

  /** To the server and back, until either of them ends it. */
  async forward(way: Way, line: Line): Promise<void> {
    try {
      if (line.delayMs > 0) await this.#wait(line.delayMs);
      this.#upstream = await this.#ask(way);
      const { statusCode = 502, headers } = this.#upstream;
      if (this.#isStalled) return await this.#wait(Number.POSITIVE_INFINITY);
      this.request.code = statusCode;
      if (this.#isEmptied && statusCode === 200) return await this.#answerEmpty(this.#upstream);
      this.#response.writeHead(statusCode, withoutHops(headers));
      this.#response.flushHeaders();
      for await (const chunk of this.#upstream as AsyncIterable<Buffer>) await this.#pass(chunk, line);
      if (!this.#isStalled) this.#response.end();
    } catch {
      // The server is away or has broken off, or the client is gone.
      if (!this.#isStalled && !this.isOver) this.reset();
    }
  }

  cut(): void {
    this.request.faults.push('cut');
    this.reset();
  }

  reset(): void {
    this.#reset();
    this.#leave();
  }

  stall(): void {
    this.request.faults.push('stalled');
    this.#isStalled = true;
  }

  /** A list is answered as the server would answer it with nothing in its store: of the same kind, at version 1. */
  empty(): void {
    this.request.faults.push('emptied');
    this.#isEmptied = true;
  }

  /** As a server does that has had enough of it: what was sent is whole. */
  end(): void {
    this.request.faults.push('ended');
    this.#response.end();
  }

  truncate(): void {
    this.#next = 'truncate';
  }

  garble(): void {
    this.#next = 'garble';
  }

  /** At the next end of a line, which is now if nothing is under way. The last one ends the stream. */
  send(text: string, name: string, isLast: boolean): void {
    this.request.faults.push(`sent ${name}`);
    this.#event = { text, isLast };
    if (this.#isAtLineEnd && this.#response.headersSent) this.#sendEvent();
  }

  /** What has not struck yet will not. */
  heal(): void {
    this.#next = undefined;
  }

  #leave(): void {
    this.#gone.abort();
    this.#upstream?.destroy();
  }

  #ask(way: Way): Promise<IncomingMessage> {
    const { hostname, port, protocol, pathname } = new URL(way.url);
    const isPlain = protocol === 'http:';
    const { method, url: path = '/' } = this.#incoming;
    const headers = this.#headersToAskWith();
    return new Promise((resolve, reject) => {
      const { signal } = this.#gone;
      const whole = `${pathname.replace(/\/$/, '')}${this.#isEmptied ? shortened(path) : path}`;
      const options = { hostname, port, method, path: whole, headers, signal };
      const asked =
        'plainAgent' in way
          ? askPlain({ ...options, agent: way.plainAgent }, resolve)
          : isPlain
            ? askPlain(options, resolve)
            : askTls({ ...options, agent: way.agent }, resolve);
      asked.on('error', reject);
      this.#incoming.pipe(asked);
    });
  }

  #headersToAskWith(): Record<string, string | string[]> {
    const headers = withoutHops(this.#incoming.headers);
    if (!this.#isEmptied && this.request.kind !== 'watch') return headers;
    const { 'accept-encoding': _, ...others } = headers;
    return { ...others, ...(typeof headers.accept === 'string' && { accept: inJson(headers.accept) }) };
  }

  async #answerEmpty(upstream: IncomingMessage): Promise<void> {
    const list = (await readJson(upstream)) as { items?: unknown[]; rows?: unknown[] };
    const body = { ...list, metadata: { resourceVersion: '1' }, ...(list.rows ? { rows: [] } : { items: [] }) };
    this.#response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  async #pass(chunk: Buffer, { pieceBytes, pieceMs }: Line): Promise<void> {
    if (this.#isStalled || this.isOver) return;
    const fault = this.#next;
    this.#next = undefined;
    if (fault) this.request.faults.push(fault === 'garble' ? 'garbled' : 'truncated');
    if (fault === 'truncate') {
      await this.#write(chunk.subarray(0, Math.floor(chunk.length / 2)));
      if (this.request.kind === 'watch') this.#response.end();
      else this.#response.destroy(); // its length was announced
      return;
    }
    const bytes = fault === 'garble' ? garbled(chunk) : chunk;
    const step = pieceBytes || bytes.length;
    for (let from = 0; from < bytes.length; from += step) {
      await this.#write(bytes.subarray(from, from + step));
      if (step < bytes.length && pieceMs > 0) await this.#wait(pieceMs);
      if (this.#isStalled) return;
    }
  }

  async #write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0 || this.isOver || this.#response.writableEnded) return;
    const hasRoom = this.#response.write(bytes);
    this.#isAtLineEnd = bytes[bytes.length - 1] === 10;
    if (this.#isAtLineEnd && this.#event) this.#sendEvent();
    // A slow client slows the server, not this process.
    if (!hasRoom && !this.isOver) await drained(this.#response);
  }

  #sendEvent(): void {
    const { text, isLast } = this.#event!;
    this.#event = undefined;
    if (isLast) this.#response.end(text);
    else this.#response.write(text);
  }

  async #wait(ms: number): Promise<void> {
    const { signal } = this.#gone;
    if (Number.isFinite(ms)) await systemClock.sleep(ms, signal);
    else await new Promise((_, reject) => signal.addEventListener('abort', reject, { once: true }));
  }
}

function describe(number: number, { method = 'GET', url = '/', headers }: IncomingMessage) {
  const { pathname: path, searchParams: query } = new URL(`https://proxy${url}`); // as it stands: `//a` is a path, too
  const userAgent = headers['user-agent'] ?? '';
  return { number, method, path, query, userAgent, kind: kindOf(method, path, query), code: undefined, faults: [] };
}

function kindOf(method: string, path: string, query: URLSearchParams): ProxiedRequest['kind'] {
  if (method !== 'GET' && method !== 'HEAD') return 'write';
  if (/^(1|true)$/.test(query.get('watch') ?? '')) return 'watch';
  return COLLECTION.test(path) ? 'list' : 'read';
}

const COLLECTION = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)\/(namespaces\/[^/]+\/)?[^/]+$/;

function withoutHops(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => {
      return entry[1] !== undefined && !HOP_BY_HOP.has(entry[0]);
    }),
  );
}

/** What of it is JSON; all of it if nothing is. */
function inJson(accept: string): string {
  const forms = accept.split(',').map((form) => form.trim());
  const typeOf = (form: string) => form.split(';', 1)[0]!.trim().toLowerCase();
  const json = forms.filter((form) => typeOf(form) === 'application/json');
  if (json.length > 0) return json.join(', ');
  return forms.some((form) => ['*/*', 'application/*'].includes(typeOf(form))) ? 'application/json' : accept;
}

/** The first page of a list, of one object. */
function shortened(path: string): string {
  const [pathname = '', query] = path.split('?', 2);
  const asked = new URLSearchParams(query);
  asked.delete('continue');
  asked.set('limit', '1');
  return `${pathname}?${asked}`;
}

/** Of one object at most. */
async function readJson(answer: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** NUL bytes, which JSON has nowhere: whoever reads it must notice. */
function garbled(chunk: Buffer): Buffer {
  const middle = Math.floor(chunk.length / 2);
  return Buffer.from(chunk).fill(0, middle, middle + 3);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
