/**
 * Requests in the server's own log, as `--v` asks for them: from 2 those that were refused or failed, from 4 every one,
 * from 6 watches also as they open and close, with why they closed; in the words of kube-apiserver's log.
 *
 * Always true: a line is one line and has a bound, whatever the client sent; no credential and no body is in it. A watch
 * that was refused is no watch that opened; one that opened closes with a reason.
 */
import { attributesOf } from '../auth/authorizer.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import { STREAM_ENDS, type StreamEnd } from '../request/stream-end.ts';
import { type Outcome, shownUri } from './audit-event.ts';
import { BoundedText } from './bounded-text.ts';

const REFUSED_LEVEL = 2;
const ALL_LEVEL = 4;
const WATCH_LEVEL = 6;

export function requestLog(counting: RequestObserver, verbosity: number, log: (line: string) => void): RequestObserver {
  if (verbosity < REFUSED_LEVEL) return counting;
  return {
    begin(context) {
      counting.begin(context);
    },
    streamOpened(context) {
      counting.streamOpened(context);
      if (verbosity >= WATCH_LEVEL && isWatch(context)) log(watchOpenedLine(context));
    },
    seat: (kind, change) => counting.seat(kind, change),
    end(context, outcome, wasLetIn) {
      counting.end(context, outcome, wasLetIn);
      if (verbosity >= ALL_LEVEL || outcome.status >= 400) log(requestLine(context, outcome));
      const { streamEnd } = outcome;
      if (verbosity >= WATCH_LEVEL && streamEnd && isWatch(context)) log(watchClosedLine(context, outcome, streamEnd));
    },
    handshakeFailed() {
      counting.handshakeFailed();
      log('a TLS handshake failed');
    },
  };
}

function isWatch({ method, path, requestInfo, query }: RequestContext): boolean {
  return attributesOf(method, path, requestInfo, () => query).verb === 'watch';
}

function watchClosedLine(context: RequestContext, { seconds, sentBytes }: Outcome, why: StreamEnd): string {
  const { user, auditId } = context;
  const shown = shownIn(new BoundedText());
  return [
    `"Watch closed" reason="${why}" why=${shown(STREAM_ENDS[why])} URI=${shown(shownUri(context))}`,
    `user=${shown(user?.username)} open="${seconds.toFixed(3)}s" sentBytes=${sentBytes} audit-ID=${shown(auditId)}`,
  ].join(' ');
}

function watchOpenedLine(context: RequestContext): string {
  const { user, headers, remoteAddress, auditId } = context;
  const shown = shownIn(new BoundedText());
  return [
    `"Watch opened" URI=${shown(shownUri(context))} user=${shown(user?.username)}`,
    `userAgent=${shown(headers['user-agent'])} srcIP=${shown(remoteAddress)} audit-ID=${shown(auditId)}`,
  ].join(' ');
}

function shownIn(bounded: BoundedText): (text: string | undefined) => string {
  return (text) => JSON.stringify(bounded.cut(text ?? ''));
}

export function requestLine(context: RequestContext, { status, seconds, sentBytes }: Outcome): string {
  const { method, path, requestInfo, user, headers, remoteAddress, auditId } = context;
  const shown = shownIn(new BoundedText());
  const { verb } = attributesOf(method, path, requestInfo, () => context.query);
  const answer = status === 0 ? 'none, the client left' : String(status);
  return [
    `"HTTP" verb=${shown(verb)} URI=${shown(shownUri(context))} latency="${(seconds * 1000).toFixed(3)}ms"`,
    `user=${shown(user?.username)} userAgent=${shown(headers['user-agent'])} audit-ID=${shown(auditId)}`,
    `srcIP=${shown(remoteAddress)} sentBytes=${sentBytes} resp=${JSON.stringify(answer)}`,
  ].join(' ');
}
