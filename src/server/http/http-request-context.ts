/**
 * The HTTP server's side of a request context: one request, from its head to the last byte of its answer.
 *
 * Always true: an answer is begun once; if the HTTP server was first (time over, error), what the handler still sends is
 * dropped. The signal fires when the client leaves, when the time is over or when the server ends the stream, and not
 * after an answer that went well. Its seat is held while there is work, not while a client sends or lets its answer lie:
 * what is held for that is counted in bytes, and has to move.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { constants, gzip } from 'node:zlib';
import { type StatusError, timeout } from '../../api/errors/status-error.ts';
import type { ChurningMember } from '../event-loop/churning-set.ts';
import { type CpuAccount, chargeTo } from '../event-loop/run-queue.ts';
import type { FlowTicket } from '../flow-control/flow-gate.ts';
import { type AbortNotice, RequestNotice } from '../request/abort-notice.ts';
import type { AnswerBody, ByteStream, RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { retryAfterSeconds, statusBody, wantsPretty } from '../request/status-body.ts';
import type { StreamEnd } from '../request/stream-end.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { Holding } from './body/byte-budget.ts';
import { Pace } from './body/pace.ts';
import { RequestBody, RequestRejected } from './body/request-body.ts';
import { type AnswerHeaders, acceptsGzip, standardHeaders, warningValues } from './response/answer-headers.ts';
import { HEAD_ROOM } from './response/joined-head.ts';
import { LiveStream } from './response/live-stream.ts';
import { gather, piecesOf, SLICE_BYTES, writeParts, writePartsGzipped } from './response/parts-writer.ts';
import type { Scratch } from './response/scratch.ts';
import { inOne, lengthOf, type Wire, type WireListener } from './response/wire.ts';
import type { RequestHead, SharedByRequests } from './shared-by-requests.ts';

/** Smaller bodies are not worth it; kube-apiserver draws the line here. */
const GZIP_ABOVE_BYTES = 128 * 1024;

/** An answer is work while the client takes it; one that lets it lie this long is waited for without a seat. */
const STALLED_MS = 100;

/** What a connection takes at once, or its pace is watched. */
export const SHORT_BYTES: number = 16 * 1024;

/** Nobody changes what was asked for. */
const NO_QUERY = new URLSearchParams();

const NOTHING = Buffer.alloc(0);
const GOING = Buffer.from('The apiserver is shutting down, please try again later.\n');
const TOO_MANY = Buffer.from('Too many requests, please try again later.\n');

export class HttpRequestContext implements RequestContext, WireListener, ChurningMember {
  slot = -1;
  readonly method: string;
  readonly path: string;
  headers: IncomingHttpHeaders;
  readonly requestInfo: RequestInfo;
  user: UserInfo = { username: '', groups: [] };
  impersonator: UserInfo | undefined;
  readonly remoteAddress: string | undefined;
  auditId: string | undefined;
  auditAnnotations: Map<string, string> | undefined;
  readonly startedAtMs: number = performance.now();
  status = 0;
  /** Whether they may do what they ask for. */
  wasLetIn = false;
  /** Whether it had no seat, or took too long. */
  isTerminated = false;
  readonly #shared: SharedByRequests;
  readonly #wire: Wire;
  readonly queryText: string;
  #query: URLSearchParams | undefined;
  #warnings: Set<string> | undefined;
  #controller: AbortController | undefined;
  #notice: RequestNotice | undefined;
  #abortReason: unknown;
  #ticket: FlowTicket | undefined;
  readonly #connectionAccount: CpuAccount;
  #isOverTime = false;
  #body: RequestBody | undefined;
  #readBody: Promise<Buffer> | undefined;
  #answerHolding: Holding | undefined;
  #pace: Pace | undefined;
  #slicesTaken = 0;
  #bodyBytes = 0;
  /** What its answer was put together in, until nobody reads that any more. */
  #lent: Buffer | undefined;
  #live: LiveStream | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #deadlineAtMs: number | undefined;
  #isOver = false;

  constructor(
    shared: SharedByRequests,
    wire: Wire,
    head: RequestHead,
    /** Who is charged for what is done before it is known whose it is. */
    account: CpuAccount,
    parse: (query: () => URLSearchParams) => RequestInfo,
  ) {
    this.#shared = shared;
    this.#connectionAccount = account;
    this.#wire = wire;
    this.method = head.method;
    this.path = head.path;
    this.queryText = head.queryText;
    this.headers = head.headers;
    this.remoteAddress = head.remoteAddress;
    this.#body = new RequestBody(wire, head.headers);
    this.requestInfo = parse(() => this.query);
    shared.open.add(this);
    wire.onClose(this);
  }

  wireClosed(): void {
    clearTimeout(this.#deadline);
    this.#answerHolding?.release();
    if (this.#lent) this.#scratchFor(this.#bodyBytes).giveBack(this.#lent);
    if (!this.#isOver && !this.#live?.isEnded) this.#abort(new Error('the client is gone'));
    this.#ticket?.close();
    this.#shared.open.delete(this);
    this.#shared.onEnd(this);
  }

  get query(): URLSearchParams {
    this.#query ??= this.queryText === '' ? NO_QUERY : new URLSearchParams(this.queryText);
    return this.#query;
  }

  /** Made when somebody asks: most requests are answered before anybody has to wait under it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      chargeTo(this.account, this.#controller.signal);
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get notice(): AbortNotice {
    if (!this.#notice) {
      this.#notice = new RequestNotice();
      if (this.#abortReason !== undefined) this.#notice.abort(this.#abortReason);
    }
    return this.#notice;
  }

  get account(): CpuAccount {
    return this.#ticket?.account ?? this.#connectionAccount;
  }

  /** Why the signal fired; undefined while it has not. */
  get abortReason(): unknown {
    return this.#abortReason;
  }

  get isBegun(): boolean {
    return this.status !== 0;
  }

  /** Whether its answer has no end known in advance. */
  get isLive(): boolean {
    return this.#live !== undefined;
  }

  /** Why its stream ended; undefined while it is open, and of an answer that is none. */
  get streamEnd(): StreamEnd | undefined {
    return this.#live?.why;
  }

  get sentBytes(): number {
    return this.#live ? this.#live.sentBytes : this.#bodyBytes;
  }

  onClose(listener: WireListener): void {
    this.#wire.onClose(listener);
  }

  /**
   * False: it is to be rejected. Entered at once where no body has to be waited for, else once it is there: whoever sends
   * slowly keeps nobody from a seat.
   */
  enter(ticket: FlowTicket, isBodyWanted: boolean): boolean | Promise<boolean> {
    if (this.#abortReason !== undefined) return false;
    this.#ticket = ticket;
    if (isBodyWanted && this.#body?.isAwaited) return true;
    const entered = ticket.enter();
    if (entered instanceof Promise) this.#wire.body.resume(); // unread it would hide that the client leaves
    return entered;
  }

  /** The handler is done with the request. */
  handled(): void {
    this.#ticket?.leave();
    this.#body?.release();
  }

  initialised(): void {
    this.#ticket?.leave();
  }

  readBody(): Promise<Buffer> {
    this.#readBody ??= this.#readOnce();
    return this.#readBody;
  }

  async #readOnce(): Promise<Buffer> {
    if (!this.#body) throw new Error('Cannot read the body of a request whose stream has begun');
    const body = await this.#body.read(this.#shared, this.#holder, this.#abortReason);
    const entered = this.#ticket?.enter() ?? true;
    if (!(entered instanceof Promise ? await entered : entered)) throw new RequestRejected();
    return body;
  }

  warn(text: string): void {
    this.#warnings ??= new Set();
    this.#warnings.add(text);
  }

  send(status: number, contentType: string, body: AnswerBody, headers?: Readonly<Record<string, string>>): void {
    const bytes = lengthOf(body);
    if (!this.#mayHold(bytes)) {
      this.#findNoRoom();
      return;
    }
    const answer = this.#begin(status, contentType, headers);
    if (!answer) return;
    this.#bodyBytes = bytes;
    if (bytes <= GZIP_ABOVE_BYTES || !acceptsGzip(this.headers['accept-encoding'])) {
      const isInPieces = bytes <= SHORT_BYTES && !Buffer.isBuffer(body);
      this.#sendWhole(status, answer, isInPieces ? this.#gathered(body, bytes) : body, bytes);
      return;
    }
    gzip(inOne(body), { level: constants.Z_BEST_SPEED }, (err, packed) => {
      if (err) return this.#wire.destroy();
      this.#sendWhole(status, asGzip(answer), packed, packed.length);
    });
  }

  #sendWhole(status: number, answer: AnswerHeaders, body: AnswerBody, bytes: number): void {
    if (this.method !== 'GET') this.#shared.flusher.flush(); // events of this write before its answer
    if (bytes > SHORT_BYTES) this.waits();
    if (bytes <= SLICE_BYTES || this.method === 'HEAD') {
      this.#isOver = true;
      this.#wire.whole(status, answer, body, bytes, this.#lent);
      return;
    }
    void this.#writeParts(status, answer, piecesOf(inOne(body)), bytes, () => this.#slicesTaken++).then(() => {
      this.#isOver = this.#wire.isOpen;
    });
  }

  #writeParts(
    status: number,
    answer: AnswerHeaders,
    parts: Iterable<Buffer>,
    bytes: number,
    onTaken: () => void,
  ): Promise<void> {
    const begin = () => this.#wire.begin(status, answer, bytes);
    const { scratch } = this.#shared.flusher;
    return writeParts(this.#wire, { begin, parts, bytes, onTaken, account: this.account, scratch });
  }

  /** Nothing was done, and the client may come again after a while. */
  reject(): void {
    this.isTerminated = true;
    const answer = this.#begin(429, 'text/plain; charset=utf-8', {
      'Retry-After': String(this.#ticket?.retryAfterSeconds ?? 1),
      'X-Content-Type-Options': 'nosniff',
    });
    if (!answer) return;
    this.#isOver = true;
    this.#bodyBytes = TOO_MANY.length;
    this.#wire.whole(429, answer, TOO_MANY, TOO_MANY.length);
  }

  /** The server is going: whoever asks should ask again, on another connection. */
  comeAgain(): void {
    const answer = this.#begin(429, 'text/plain; charset=utf-8', {
      'Retry-After': '5',
      'X-Content-Type-Options': 'nosniff',
    });
    if (!answer) return;
    this.#isOver = true;
    this.#bodyBytes = GOING.length;
    this.#wire.closeAfter();
    this.#wire.whole(429, answer, GOING, GOING.length);
  }

  sendParts(status: number, contentType: string, parts: Iterable<Buffer>, bytes: number): void | Promise<void> {
    if (!this.#mayHold(Math.min(bytes, SLICE_BYTES))) return this.#findNoRoom();
    const answer = this.#begin(status, contentType);
    if (!answer) return;
    this.#bodyBytes = bytes;
    const isGzip = bytes > GZIP_ABOVE_BYTES && acceptsGzip(this.headers['accept-encoding']);
    if (isGzip || bytes > SLICE_BYTES || this.method === 'HEAD')
      return this.#sendSlices(status, answer, parts, bytes, isGzip);
    this.#sendWhole(status, answer, this.#gathered(parts, bytes), bytes);
  }

  /** In a lent buffer, behind room for the head, until the answer is out. Of a client that has gone nobody would give it back: it gets nothing. */
  #gathered(parts: Iterable<Buffer>, bytes: number): Buffer {
    if (!this.#wire.isOpen) return NOTHING;
    this.#lent = this.#scratchFor(bytes).take(HEAD_ROOM + bytes);
    return gather(parts, this.#lent.subarray(HEAD_ROOM));
  }

  #scratchFor(bytes: number): Scratch {
    return bytes <= SHORT_BYTES ? this.#shared.shortScratch : this.#shared.flusher.scratch;
  }

  async #sendSlices(
    status: number,
    answer: AnswerHeaders,
    parts: Iterable<Buffer>,
    bytes: number,
    isGzip: boolean,
  ): Promise<void> {
    const stalled = setTimeout(() => {
      if (this.#wire.needsDrain) this.#ticket?.leave();
      else stalled.refresh(); // it is not the client that is waited for
    }, STALLED_MS);
    const onTaken = () => {
      this.#slicesTaken++;
      stalled.refresh();
    };
    try {
      if (this.method === 'HEAD') {
        this.#wire.begin(status, answer, bytes);
        this.#wire.end();
      } else if (isGzip) {
        this.#wire.begin(status, asGzip(answer));
        await writePartsGzipped(this.#wire, parts, onTaken, this.account);
      } else await this.#writeParts(status, answer, parts, bytes, onTaken);
    } finally {
      clearTimeout(stalled);
    }
    this.#isOver = this.#wire.isOpen;
  }

  stream(contentType: string, status = 200, headers: Readonly<Record<string, string>> = {}): ByteStream {
    const { flusher, streamRoom, streamLimits } = this.#shared;
    const live = new LiveStream(this.#wire, flusher, streamRoom, streamLimits);
    const answer = this.#begin(status, contentType, headers);
    clearTimeout(this.#deadline);
    if (!answer) {
      live.end('error'); // the HTTP server was first
      return live;
    }
    this.#live = live;
    this.ignoreBody();
    this.#body?.release();
    this.#body = undefined;
    this.#wire.body.resume(); // unread it would hide that the client leaves
    this.#wire.begin(status, answer);
    this.#forgetHead();
    this.#shared.onStream(this);
    if (this.#shared.isDraining) live.end('server-stopping');
    return live;
  }

  ignoreBody(): void {
    this.#body?.ignore();
  }

  /** Cuts off a client that sends its body or reads its answer too slowly. Watches have a rule of their own. */
  checkPace(nowMs: number): void {
    if (this.#live) return;
    const { bodyPace, answerPace } = this.#shared;
    const coming = this.#body?.comingBytes;
    if (coming === undefined && this.#wire.unreadBytes === 0) {
      this.#pace = undefined;
      return;
    }
    const moved = coming ?? this.#slicesTaken;
    this.#pace ??= new Pace(nowMs, moved);
    if (this.#pace.isKept(nowMs, moved, coming === undefined ? answerPace : bodyPace)) return;
    this.#pace = undefined;
    if (coming === undefined) {
      this.#wire.destroy();
      return;
    }
    this.#body?.abandon();
    this.#body?.refuse(timeout('request body was sent too slowly'));
  }

  /** Once it is waited for: after `ms` without a finished answer, 504, or a cut where the answer had begun. */
  limitTime(ms: number): void {
    this.#deadlineAtMs = this.startedAtMs + ms;
  }

  /** Something has to be waited for. What is answered at once, and short, needs no timer. */
  waits(): void {
    if (this.#deadlineAtMs === undefined || this.#deadline || this.#live || !this.#wire.isOpen) return;
    this.#deadline = setTimeout(
      () => {
        const error = timeout('request did not complete within the allotted timeout');
        if (this.#body?.comingBytes !== undefined) this.#body.abandon();
        this.#isOverTime = true;
        this.isTerminated = true;
        this.#abort(error);
        this.fail(error);
      },
      Math.ceil(this.#deadlineAtMs - performance.now()),
    );
  }

  /** The answer is this error; an answer that has begun is cut off instead. */
  fail(error: StatusError): void {
    if (this.isBegun) {
      if (this.#live) this.#live.cutOff('error');
      else this.#wire.destroy();
      return;
    }
    const { encodeStatus } = this.#shared;
    const { contentType, body } = encodeStatus
      ? encodeStatus(this, error)
      : { contentType: 'application/json', body: statusBody(error.status, wantsPretty(this.query, this.headers)) };
    const seconds = retryAfterSeconds(error.status);
    this.send(error.code, contentType, body, seconds === undefined ? undefined : { 'Retry-After': String(seconds) });
  }

  /** A clean end of a live stream, because the server stops. */
  endStream(reason: unknown): void {
    if (!this.#live) return;
    this.#live.end('server-stopping');
    this.#abort(reason);
  }

  destroy(): void {
    this.#wire.destroy();
  }

  #begin(status: number, contentType: string, more?: Readonly<Record<string, string>>): AnswerHeaders | undefined {
    if (this.isBegun) return undefined;
    this.status = status;
    const auditId = this.headers['audit-id'];
    const headers = standardHeaders(
      typeof auditId === 'string' ? auditId : undefined,
      contentType,
      this.#isOverTime ? undefined : this.#ticket?.uids, // as kube-apiserver: whoever gave up does not know
    );
    this.auditId = String(headers['Audit-Id']);
    if (this.#shared.history && this.wasLetIn && this.requestInfo.kind === 'resource')
      headers['Longwatch-History'] = this.#shared.history;
    if (this.#warnings) headers.Warning = warningValues(this.#warnings);
    if (this.#shared.isDraining) this.#wire.closeAfter();
    this.#body?.answered();
    return more ? Object.assign(headers, more) : headers;
  }

  /** A stream may live for hours, and there may be many: what only its beginning needed goes. */
  #forgetHead(): void {
    const agent = this.headers['user-agent']; // whoever writes down how it ended asks for this
    this.headers = agent === undefined ? {} : { 'user-agent': agent };
    this.#query = undefined; // made again should anybody ask
    this.#wire.forgetHead();
  }

  get #holder(): { username: string } {
    return { username: (this.impersonator ?? this.user).username };
  }

  /** Whether there is room for so much more of an answer; what nobody will read needs none. */
  #mayHold(bytes: number): boolean {
    if (this.isBegun || !this.#wire.isOpen) return true;
    this.#answerHolding ??= this.#shared.answers.hold(this.#holder, () => this.#wire.destroy());
    return this.#answerHolding.add(bytes, this.#mayHaveChanged);
  }

  /** Whoever asked for a change must not be told that nothing was done. */
  #findNoRoom(): void {
    if (this.#mayHaveChanged) this.#wire.destroy();
    else this.reject();
  }

  get #mayHaveChanged(): boolean {
    return this.wasLetIn && this.method !== 'GET' && this.method !== 'HEAD';
  }

  #abort(reason: unknown): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#ticket?.giveUp();
    this.#body?.refuse(reason);
    this.#notice?.abort(reason);
    this.#controller?.abort(reason);
  }
}

function asGzip(headers: AnswerHeaders): AnswerHeaders {
  return { ...headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' };
}
