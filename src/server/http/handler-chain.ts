/**
 * The handler chain: what every request passes before a handler sees it, in this order.
 *
 *   draining 503 → deadline → authentication 401 → impersonation 403 → flow control 429 → authorisation 403 → handler
 *
 * Always true: nothing of a body is read on the way, and one that is waited for gets its seat when it is there. It fails
 * with the StatusError of the link that refused, or with RequestRejected where flow control had no seat. Links that can answer
 * at once do: a promise for each of them would cost more than most do.
 */
import { serviceUnavailable, unauthorized } from '../../api/errors/status-error.ts';
import type { Authenticate, PeerCertificate } from '../auth/authenticator.ts';
import { type Attributes, type Authorizer, attributesOf, type Decision, forbiddenBy } from '../auth/authorizer.ts';
import { IGNORED_TOKEN, parseBearerHeader } from '../auth/bearer-header.ts';
import { impersonate, isImpersonating } from '../auth/impersonation.ts';
import type { FlowGate } from '../flow-control/flow-gate.ts';
import { HEALTH_PATH } from '../flow-control/in-flight.ts';
import type { AccessObserver } from '../request/access-observer.ts';
import type { RequestContext } from '../request/request-context.ts';
import { requestDeadlineMs } from '../request/request-deadline.ts';
import { isLongRunning } from '../request/request-info.ts';
import { requestKind } from '../request/request-kind.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { UserInfo } from '../request/user-info.ts';
import { RequestRejected } from './body/request-body.ts';
import type { HttpRequestContext } from './http-request-context.ts';
import type { RequestHead } from './shared-by-requests.ts';

/** Whatever the deadline, nobody waits for a seat longer. */
const MAX_WAIT_SECONDS = 60;

/** What the client of a connection showed in its handshake. */
export type ShownCertificate = () => PeerCertificate | 'unverified' | undefined;

/** Paths that begin so are answered by a server that tells others to come again. */
const SERVED_TO_THE_END = ['/readyz', '/livez', '/healthz', '/metrics'];

/** The server is going: come again, to another one. */
export class ServerGoing extends Error {
  constructor() {
    super('the server is going');
  }
}

type ChainLinks = {
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly gate: FlowGate;
  readonly handle: (context: RequestContext) => void | Promise<void>;
  readonly observer: RequestObserver | undefined;
  readonly accessObserver: AccessObserver | undefined;
  readonly requestTimeoutMs: number;
  readonly isDraining: () => boolean;
  /** A server that goes tells new requests to come again, instead of that it goes. */
  readonly sendsRetryAfter: boolean;
};

export class HandlerChain {
  readonly #links: ChainLinks;

  constructor(links: ChainLinks) {
    this.#links = links;
  }

  /** Undefined: answered, without anything that had to be waited for. */
  run(context: HttpRequestContext, head: RequestHead, certificate: ShownCertificate): void | Promise<void> {
    this.#mustServe(context);
    const deadlineMs = this.#setDeadline(context, head);
    const found = this.#authenticate(context, certificate);
    if (found instanceof Promise || isImpersonating(context.headers))
      return this.#runLate(context, head, found, deadlineMs);
    return this.#runAs(context, found, deadlineMs);
  }

  async #runLate(
    context: HttpRequestContext,
    head: RequestHead,
    found: ReturnType<Authenticate>,
    deadlineMs: number,
  ): Promise<void> {
    const user = await found;
    if (!user || !isImpersonating(context.headers)) return this.#runAs(context, user, deadlineMs);
    context.user = user;
    const other = await impersonate(user, head.rawHeaders, this.#links.authorizer);
    context.impersonator = user;
    return this.#runAs(context, other, deadlineMs);
  }

  #runAs(context: HttpRequestContext, user: UserInfo | undefined, deadlineMs: number): void | Promise<void> {
    if (!user) throw unauthorized();
    context.user = user;
    const { method, path, requestInfo } = context;
    const attributes = attributesOf(method, path, requestInfo, () => context.query);
    const entered = this.#enter(context, attributes, deadlineMs);
    if (entered instanceof Promise) return entered.then((mayRun) => this.#runSeated(context, attributes, mayRun));
    return this.#runSeated(context, attributes, entered);
  }

  #runSeated(context: HttpRequestContext, attributes: Attributes, mayRun: boolean): void | Promise<void> {
    if (!mayRun) throw new RequestRejected();
    const startedMs = performance.now();
    const decision = this.#links.authorizer.authorize(context.user, attributes);
    if (!(decision instanceof Promise)) return this.#runDecided(context, attributes, decision, startedMs);
    return decision.then(
      (late) => this.#runDecided(context, attributes, late, startedMs),
      (err: unknown) => {
        this.#links.accessObserver?.authorized('error', secondsSince(startedMs));
        throw err;
      },
    );
  }

  #runDecided(
    context: HttpRequestContext,
    attributes: Attributes,
    decision: Decision,
    startedMs: number,
  ): void | Promise<void> {
    this.#links.accessObserver?.authorized(decision.allowed ? 'allowed' : 'no-opinion', secondsSince(startedMs));
    if (!decision.allowed) throw forbiddenBy(context.user, attributes, decision.reason);
    context.wasLetIn = true;
    this.#links.observer?.begin(context);
    const handled = this.#links.handle(context);
    if (handled instanceof Promise) return handled.then(() => mustBeAnswered(context));
    mustBeAnswered(context);
  }

  /** A server that stops still says how it is. */
  #mustServe({ path, headers }: HttpRequestContext): void {
    if (!this.#links.isDraining()) return;
    if (!this.#links.sendsRetryAfter) {
      if (!HEALTH_PATH.test(path)) throw serviceUnavailable('apiserver is shutting down', 1);
      return;
    }
    const isOurOwn = headers['user-agent']?.startsWith('kube-apiserver/') === true;
    if (!isOurOwn && !SERVED_TO_THE_END.some((prefix) => path.startsWith(prefix))) throw new ServerGoing();
  }

  /** Watches have a clock of their own. */
  #setDeadline(context: HttpRequestContext, { queryText }: RequestHead): number {
    const { requestTimeoutMs } = this.#links;
    if (isLongRunning(context.requestInfo)) return requestTimeoutMs;
    const query = queryText.includes('timeout') ? context.query : undefined;
    const deadlineMs = requestDeadlineMs(query, requestTimeoutMs);
    context.limitTime(deadlineMs);
    return deadlineMs;
  }

  #authenticate(context: HttpRequestContext, certificate: ShownCertificate): ReturnType<Authenticate> {
    const { token, isIgnored } = parseBearerHeader(context.headers.authorization);
    if (isIgnored) context.warn(IGNORED_TOKEN);
    const startedMs = performance.now();
    const shown = certificate();
    const isShown = token !== undefined || shown !== undefined;
    const found = this.#links.authenticate({ token, certificate: shown });
    if (!(found instanceof Promise)) return this.#authenticated(found, isShown, startedMs);
    return found.then(
      (late) => this.#authenticated(late, isShown, startedMs),
      (err: unknown) => {
        this.#links.accessObserver?.authenticated('error', secondsSince(startedMs));
        throw err;
      },
    );
  }

  #authenticated(user: UserInfo | undefined, isShown: boolean, startedMs: number): UserInfo | undefined {
    const result = user ? 'success' : isShown ? 'error' : 'failure';
    this.#links.accessObserver?.authenticated(result, secondsSince(startedMs));
    return user;
  }

  /** False: rejected. */
  #enter(context: HttpRequestContext, attributes: Attributes, deadlineMs: number): boolean | Promise<boolean> {
    const kind = requestKind(context.method);
    if (kind === 'readOnly') context.ignoreBody();
    const waitSeconds = Math.min(deadlineMs / 4000, MAX_WAIT_SECONDS);
    const ticket = this.#links.gate.ticketFor(context, attributes, waitSeconds);
    return ticket ? context.enter(ticket, kind === 'mutating') : context.abortReason === undefined;
  }
}

function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000;
}

function mustBeAnswered({ method, path, isBegun, abortReason }: HttpRequestContext): void {
  if (!isBegun && abortReason === undefined) throw new Error(`no handler answered ${method} ${path}`);
}
