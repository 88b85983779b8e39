/**
 * The front's side of an Exchange: one request, from its head to the last byte of its answer.
 *
 * Always true: an answer is begun once; if the front was first (time over, error), what the handler still sends is
 * dropped. The signal fires when the client leaves, when the time is over or when the server ends the stream, and not
 * after an answer that went well.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { constants, gzip } from 'node:zlib';
import { type StatusError, timeout } from '../../api/status-error.ts';
import { type AnswerHeaders, acceptsGzip, type FlowUids, standardHeaders, warningValues } from './answer-headers.ts';
import type { ByteStream, Exchange, Target, UserInfo } from './exchange.ts';
import { LiveStream, type StreamLimits } from './live-stream.ts';
import { writeParts, writePartsGzipped } from './parts-writer.ts';
import { readBody } from './read-body.ts';
import { retryAfterSeconds, statusBody, wantsPretty } from './status-body.ts';
import type { TurnFlusher } from './turn-flusher.ts';
import type { Wire } from './wire.ts';

/** Smaller bodies are not worth it; the reference server draws the line here. */
const GZIP_ABOVE_BYTES = 128 * 1024;

/** A Status in the form the client asked for. */
export type EncodedStatus = { readonly contentType: string; readonly body: Buffer };

/** What all exchanges of one front share. */
export type ExchangeSurroundings = FlowUids & {
  readonly flusher: TurnFlusher;
  readonly streamLimits: StreamLimits;
  readonly bodyLimitBytes: number;
  readonly encodeStatus: ((exchange: Exchange, error: StatusError) => EncodedStatus) | undefined;
  /** The server is going: connections are not kept, new streams end at once. */
  isDraining: boolean;
};

export type RequestHead = {
  readonly method: string;
  readonly path: string;
  readonly queryText: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, repeated headers apart. */
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string | undefined;
};

export class FrontExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  headers: IncomingHttpHeaders;
  readonly target: Target;
  user: UserInfo = { username: '', groups: [] };
  impersonator: UserInfo | undefined;
  readonly remoteAddress: string | undefined;
  auditId: string | undefined;
  readonly startedAtMs: number = performance.now();
  status = 0;
  readonly #shared: ExchangeSurroundings;
  readonly #wire: Wire;
  readonly #queryText: string;
  #query: URLSearchParams | undefined;
  #warnings: Set<string> | undefined;
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #body: Promise<Buffer> | undefined;
  #bodyBytes = 0;
  #live: LiveStream | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    shared: ExchangeSurroundings,
    wire: Wire,
    head: RequestHead,
    parse: (query: () => URLSearchParams) => Target,
  ) {
    this.#shared = shared;
    this.#wire = wire;
    this.method = head.method;
    this.path = head.path;
    this.#queryText = head.queryText;
    this.headers = head.headers;
    this.remoteAddress = head.remoteAddress;
    this.target = parse(() => this.query);
    wire.onClose(() => {
      clearTimeout(this.#deadline);
      if (!this.#isOver) this.#abort(new Error('the client is gone'));
    });
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#queryText);
    return this.#query;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** Why the signal fired; undefined while it has not. */
  get abortReason(): unknown {
    return this.#abortReason;
  }

  get isBegun(): boolean {
    return this.status !== 0;
  }

  get sentBytes(): number {
    return this.#live ? this.#live.sentBytes : this.#bodyBytes;
  }

  onClose(listener: () => void): void {
    this.#wire.onClose(listener);
  }

  readBody(): Promise<Buffer> {
    this.#body ??= readBody(this.#wire.body, {
      limitBytes: this.#shared.bodyLimitBytes,
      announcedBytes: numberOrNone(this.headers['content-length']),
      signal: this.signal,
      cutOff: () => this.#wire.destroy(),
    });
    return this.#body;
  }

  warn(text: string): void {
    this.#warnings ??= new Set();
    this.#warnings.add(text);
  }

  send(status: number, contentType: string, body: Buffer, headers: Readonly<Record<string, string>> = {}): void {
    const answer = this.#begin(status, contentType, headers);
    if (!answer) return;
    this.#bodyBytes = body.length;
    if (body.length <= GZIP_ABOVE_BYTES || !acceptsGzip(this.headers['accept-encoding'])) {
      this.#isOver = true;
      this.#wire.whole(status, answer, body);
      return;
    }
    gzip(body, { level: constants.Z_BEST_SPEED }, (err, packed) => {
      if (err) return this.#wire.destroy();
      this.#isOver = true;
      this.#wire.whole(status, asGzip(answer), packed);
    });
  }

  async sendParts(status: number, contentType: string, parts: Iterable<Buffer>, bytes: number): Promise<void> {
    const answer = this.#begin(status, contentType, {});
    if (!answer) return;
    this.#bodyBytes = bytes;
    const isGzip = bytes > GZIP_ABOVE_BYTES && acceptsGzip(this.headers['accept-encoding']);
    if (this.method === 'HEAD') {
      this.#wire.begin(status, answer, bytes);
      this.#wire.end();
    } else if (isGzip) {
      this.#wire.begin(status, asGzip(answer));
      await writePartsGzipped(this.#wire, parts);
    } else {
      await writeParts(this.#wire, () => this.#wire.begin(status, answer, bytes), parts);
    }
    this.#isOver = this.#wire.isOpen;
  }

  stream(contentType: string): ByteStream {
    const live = new LiveStream(this.#wire, this.#shared.flusher, this.#shared.streamLimits);
    const answer = this.#begin(200, contentType, {});
    clearTimeout(this.#deadline);
    if (!answer) {
      live.end();
      return live;
    }
    this.#live = live;
    this.#wire.body.resume(); // nobody reads it, and unread it would hide that the client leaves
    this.#wire.begin(200, answer);
    this.#forgetHead();
    live.onClose(() => {
      this.#isOver = true;
    });
    if (this.#shared.isDraining) live.end();
    return live;
  }

  /** After `ms` without a finished answer: 504, or a cut where the answer had begun. */
  armDeadline(ms: number): void {
    this.#deadline = setTimeout(() => {
      const error = timeout('request did not complete within the allotted timeout');
      this.#abort(error);
      this.fail(error);
    }, ms);
  }

  /** The answer is this error; an answer that has begun is cut off instead. */
  fail(error: StatusError): void {
    if (this.isBegun) {
      this.#wire.destroy();
      return;
    }
    const { encodeStatus } = this.#shared;
    const { contentType, body } = encodeStatus
      ? encodeStatus(this, error)
      : { contentType: 'application/json', body: statusBody(error.status, wantsPretty(this.query, this.headers)) };
    const seconds = retryAfterSeconds(error.status);
    this.send(error.code, contentType, body, seconds === undefined ? {} : { 'Retry-After': String(seconds) });
  }

  /** A clean end of a live stream, because the server stops. */
  endStream(reason: unknown): void {
    if (!this.#live) return;
    this.#live.end();
    this.#abort(reason);
  }

  destroy(): void {
    this.#wire.destroy();
  }

  #begin(status: number, contentType: string, more: Readonly<Record<string, string>>): AnswerHeaders | undefined {
    if (this.isBegun) return undefined;
    this.status = status;
    const auditId = this.headers['audit-id'];
    const headers = standardHeaders(typeof auditId === 'string' ? auditId : undefined, contentType, this.#shared);
    this.auditId = String(headers['Audit-Id']);
    if (this.#warnings) headers.Warning = warningValues(this.#warnings);
    if (this.#shared.isDraining) this.#wire.closeAfter();
    return Object.assign(headers, more);
  }

  /** A stream may live for hours, and there may be many: what only its beginning needed goes. */
  #forgetHead(): void {
    const agent = this.headers['user-agent']; // whoever writes down how it ended asks for this
    this.headers = agent === undefined ? {} : { 'user-agent': agent };
    this.#query = undefined; // made again should anybody ask
    this.#wire.forgetHead();
  }

  #abort(reason: unknown): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}

function asGzip(headers: AnswerHeaders): AnswerHeaders {
  return { ...headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' };
}

function numberOrNone(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
