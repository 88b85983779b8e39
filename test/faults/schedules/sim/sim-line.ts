/**
 * The way between the clients and the server of a simulated world, with the vocabulary of a FaultProxy: whoever is struck,
 * and how, is decided by the schedule; how long anything takes, by the seed.
 *
 * What is always true: bytes of one connection come in order and once, a while after they were sent. A connection that is
 * cut or whose server goes ends with an error; one that is stalled says nothing any more, not even that.
 */
import { TransportError } from '../../../../src/client/index.ts';
import type { FaultAnswer, ProxiedRequest, Which } from '../../../../src/testing/index.ts';
import { SimBody } from './sim-body.ts';
import type { SimClock } from './sim-clock.ts';
import type { SimRequest } from './sim-undici.ts';

export type SimAnswer = {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream has none: it is sent to the exchange piece by piece. */
  readonly body?: unknown;
};

/** What the line asks of whoever answers. Throws while nobody does. */
export type SimEndpoint = {
  readonly isAway: boolean;
  handle(request: SimHead, exchange: SimExchange): Promise<SimAnswer>;
};

export type SimHead = Pick<ProxiedRequest, 'method' | 'path' | 'query' | 'userAgent'> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

const COLLECTION = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)\/(namespaces\/[^/]+\/)?[^/]+$/;
const REMEMBERED = 2_000;

/** One request, and the connection it has. */
export class SimExchange {
  readonly request: ProxiedRequest & { code: number | undefined; faults: string[] };
  readonly body: SimBody;
  /** Fires when it is over, by whatever end. */
  readonly over = new AbortController();
  readonly #line: SimLine;
  #fail: (error: unknown) => void = () => {};
  #pending = '';
  #isEnding = false;
  #isStalled = false;
  #isDelivering = false;
  #isAnswered = false;
  #next: 'truncate' | 'garble' | undefined;

  constructor(line: SimLine, request: ProxiedRequest) {
    this.#line = line;
    this.request = { ...request, faults: [] };
    this.body = new SimBody(() => this.leave());
  }

  /** What becomes of it before there is an answer. */
  failWith(fail: (error: unknown) => void): void {
    this.#fail = fail;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Of the server: lines of a stream. */
  send(text: string): void {
    if (this.over.signal.aborted || this.#isEnding) return;
    this.#pending += text;
    void this.#deliver();
  }

  /** The head of the answer has come: what was sent behind it may follow. */
  answered(): void {
    this.#isAnswered = true;
    void this.#deliver();
  }

  /** As a server does that has had enough of it: what was sent is whole. */
  end(fault?: string): void {
    if (fault) this.request.faults.push(fault);
    this.#isEnding = true;
    void this.#deliver();
  }

  cut(fault = 'cut'): void {
    this.request.faults.push(fault);
    if (this.#isStalled && fault !== 'cut') return; // the client is told nothing
    const error = new Error('the connection was reset');
    this.body.end({ error });
    this.#fail(error);
    this.leave();
  }

  stall(): void {
    this.request.faults.push('stalled');
    this.#isStalled = true;
  }

  strikeNext(fault: 'truncate' | 'garble'): void {
    this.#next = fault;
  }

  sendError(text: string, name: string): void {
    this.request.faults.push(`sent ${name}`);
    this.send(text);
    this.end();
  }

  heal(): void {
    this.#next = undefined;
  }

  leave(): void {
    this.over.abort();
    this.#line.forget(this);
  }

  /** One wait at a time, so that the order is kept; what was sent meanwhile goes with it. */
  async #deliver(): Promise<void> {
    if (this.#isDelivering || !this.#isAnswered) return;
    this.#isDelivering = true;
    try {
      while ((this.#pending !== '' || this.#isEnding) && !this.over.signal.aborted) {
        await this.#line.travel(this.over.signal);
        const bytes = Buffer.from(this.#pending);
        this.#pending = '';
        if (this.#isStalled) return; // not even its end comes through
        this.#pass(bytes);
        if (!this.#isEnding || this.#pending !== '') continue;
        this.body.end();
        return this.leave();
      }
    } catch {
      // It is over.
    } finally {
      this.#isDelivering = false;
    }
  }

  #pass(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const fault = this.#next;
    this.#next = undefined;
    const middle = Math.floor(bytes.length / 2);
    if (fault === 'truncate') {
      this.request.faults.push('truncated');
      this.body.push(bytes.subarray(0, middle));
      this.#isEnding = true;
      this.#pending = '';
      return;
    }
    if (fault === 'garble') {
      this.request.faults.push('garbled');
      bytes.fill(0, middle, middle + 3);
    }
    const step = this.#line.pieceBytes || bytes.length;
    for (let from = 0; from < bytes.length; from += step) this.body.push(bytes.subarray(from, from + step));
  }
}

export class SimLine {
  pieceBytes = 0;
  /** When each user agent was last answered well about leases, by the time that the machine was awake. */
  readonly leaseSeenAt = new Map<string, number>();
  readonly #clock: SimClock;
  readonly #random: () => number;
  readonly #endpoint: SimEndpoint;
  readonly #exchanges = new Set<SimExchange>();
  readonly #requests: ProxiedRequest[] = [];
  readonly #answers: { readonly answer: FaultAnswer; left: number }[] = [];
  #delayMs = 0;
  #refuses = false;
  #count = 0;

  constructor(clock: SimClock, random: () => number, endpoint: SimEndpoint) {
    this.#clock = clock;
    this.#random = random;
    this.#endpoint = endpoint;
  }

  get requests(): readonly ProxiedRequest[] {
    return this.#requests;
  }

  get open(): readonly ProxiedRequest[] {
    return [...this.#exchanges].map(({ request }) => request);
  }

  get connections(): number {
    return this.#exchanges.size;
  }

  // ---- faults ----

  cut(which: Which = 'any'): number {
    return this.#strike(which, (exchange) => exchange.cut());
  }

  stall(which: Which = 'any'): number {
    return this.#strike(which, (exchange) => exchange.stall());
  }

  end(which: Which = 'watch'): number {
    return this.#strike(which, (exchange) => exchange.end('ended'));
  }

  truncate(which: Which = 'watch'): number {
    return this.#strike(which, (exchange) => exchange.strikeNext('truncate'));
  }

  garble(which: Which = 'watch'): number {
    return this.#strike(which, (exchange) => exchange.strikeNext('garble'));
  }

  sendError(which: Which, code: number): number {
    const text = `${JSON.stringify({ type: 'ERROR', object: simStatus(code) })}\n`;
    return this.#strike(which, (exchange) => exchange.sendError(text, `ERROR ${code}`));
  }

  answer(answer: FaultAnswer): void {
    this.#answers.push({ answer, left: answer.times ?? 1 });
  }

  refuse(): void {
    this.#refuses = true;
  }

  delay(ms: number): void {
    this.#delayMs = ms;
  }

  drip(bytes: number): void {
    this.pieceBytes = bytes;
  }

  heal(): void {
    this.#answers.length = 0;
    this.#refuses = false;
    this.#delayMs = 0;
    this.pieceBytes = 0;
    for (const exchange of this.#exchanges) exchange.heal();
  }

  /** The server goes: whoever it served is told, unless nobody can tell them anything. */
  drop(fits: (exchange: SimExchange) => boolean = () => true): void {
    for (const exchange of [...this.#exchanges]) if (fits(exchange)) exchange.cut('server gone');
  }

  // ---- carrying ----

  /** A while, as the seed has it. */
  travel(signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(1 + Math.floor(this.#random() * 20), signal);
  }

  forget(exchange: SimExchange): void {
    this.#exchanges.delete(exchange);
  }

  async carry(asked: SimRequest, clientGone: AbortSignal) {
    const exchange = new SimExchange(this, this.#describe(asked));
    this.#requests.push(exchange.request);
    if (this.#requests.length > REMEMBERED) this.#requests.splice(0, REMEMBERED / 2);
    this.#exchanges.add(exchange);
    const leave = () => {
      exchange.body.end({ error: asked.signal.reason ?? clientGone.reason });
      exchange.leave();
    };
    asked.signal.addEventListener('abort', leave, { once: true });
    clientGone.addEventListener('abort', leave, { once: true });
    exchange.over.signal.addEventListener('abort', () => {
      asked.signal.removeEventListener('abort', leave);
      clientGone.removeEventListener('abort', leave);
    });
    if (asked.signal.aborted || clientGone.aborted) leave();
    const failed = new Promise<never>((_, reject) => {
      exchange.failWith(reject);
      exchange.over.signal.addEventListener('abort', () => reject(new Error('the connection is gone')));
    });
    failed.catch(() => {}); // of those that are answered
    try {
      return await Promise.race([this.#answerOf(asked, exchange), failed]);
    } catch (error) {
      exchange.leave();
      throw error;
    }
  }

  async #answerOf(asked: SimRequest, exchange: SimExchange) {
    const { signal } = exchange.over;
    await this.travel(signal);
    if (this.#refuses || this.#endpoint.isAway) {
      exchange.request.faults.push('refused');
      throw new TransportError('connect', 'Cannot connect to the world: refused');
    }
    const given = await this.#ask(asked, exchange);
    await this.travel(signal);
    if (exchange.isStalled) await forEver(signal);
    exchange.request.code = given.code;
    exchange.answered();
    if (given.code < 300 && exchange.request.path.includes('/leases'))
      this.leaseSeenAt.set(exchange.request.userAgent, this.#clock.awake());
    const headers = { 'content-type': 'application/json', ...given.headers };
    if (given.body !== undefined) {
      exchange.send(typeof given.body === 'string' ? given.body : JSON.stringify(given.body));
      exchange.end();
    }
    return { statusCode: given.code, headers, body: exchange.body };
  }

  async #ask(asked: SimRequest, exchange: SimExchange): Promise<SimAnswer> {
    const { request } = exchange;
    const planned = this.#answers.find(({ answer, left }) => left > 0 && fits(answer.to ?? 'any', request));
    if (planned) {
      planned.left--;
      const { code, text, retryAfterSeconds } = planned.answer;
      request.faults.push(`answered ${code}`);
      const headers = {
        ...(text !== undefined && { 'content-type': 'text/html' }),
        ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      };
      return { code, headers, body: text ?? simStatus(code) };
    }
    if (this.#delayMs === Number.POSITIVE_INFINITY) await forEver(exchange.over.signal);
    else if (this.#delayMs > 0) await this.#clock.sleep(this.#delayMs, exchange.over.signal);
    const body = asked.body === null ? undefined : JSON.parse(asked.body.toString());
    const { method, path, query, userAgent } = request;
    return this.#endpoint.handle({ method, path, query, userAgent, headers: asked.headers, body }, exchange);
  }

  #strike(which: Which, act: (exchange: SimExchange) => void): number {
    const struck = [...this.#exchanges].filter(({ request }) => fits(which, request));
    for (const exchange of struck) act(exchange);
    return struck.length;
  }

  #describe({ method, path: url, headers }: SimRequest): ProxiedRequest {
    const { pathname: path, searchParams: query } = new URL(url, 'http://world');
    const isRead = method === 'GET';
    const isWatch = isRead && query.get('watch') === 'true';
    const kind = !isRead ? 'write' : isWatch ? 'watch' : COLLECTION.test(path) ? 'list' : 'read';
    const userAgent = headers['user-agent'] ?? '';
    return { number: ++this.#count, method, path, query, userAgent, kind, code: undefined, faults: [] };
  }
}

const REASONS: Readonly<Record<number, string>> = {
  ...{ 400: 'BadRequest', 401: 'Unauthorized', 404: 'NotFound', 409: 'Conflict', 410: 'Expired', 422: 'Invalid' },
  ...{ 429: 'TooManyRequests', 500: 'InternalError', 503: 'ServiceUnavailable', 504: 'Timeout' },
};

export function simStatus(code: number, cause?: string): object {
  const message = `of the simulated world: ${cause ?? code}`;
  const details = cause ? { details: { causes: [{ reason: cause, message }] } } : {};
  const reason = REASONS[code] ?? 'Unknown';
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code, ...details };
}

function fits(which: Which, request: ProxiedRequest): boolean {
  if (typeof which === 'function') return which(request);
  return which === 'any' || which === request.kind;
}

function forEver(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('it is over'))));
}
