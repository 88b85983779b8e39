/**
 * Requests in the server's own log, as `--v` asks for them: from 2 those that were refused or failed, from 4 every one,
 * in the words of kube-apiserver's log.
 *
 * Always true: a line is one line and has a bound, whatever the client sent; no credential and no body is in it. A watch
 * is shown when it ends.
 */
import { attributesOf } from '../auth/authorizer.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import { type Outcome, shownUri } from './audit-event.ts';
import { BoundedText } from './bounded-text.ts';

const REFUSED_LEVEL = 2;
const ALL_LEVEL = 4;

export function requestLog(counting: RequestObserver, verbosity: number, log: (line: string) => void): RequestObserver {
  if (verbosity < REFUSED_LEVEL) return counting;
  return {
    begin: (context) => counting.begin(context),
    seat: (kind, change) => counting.seat(kind, change),
    end(context, outcome, wasLetIn) {
      counting.end(context, outcome, wasLetIn);
      if (verbosity >= ALL_LEVEL || outcome.status >= 400) log(requestLine(context, outcome));
    },
    handshakeFailed() {
      counting.handshakeFailed();
      log('a TLS handshake failed');
    },
  };
}

export function requestLine(context: RequestContext, { status, seconds, sentBytes }: Outcome): string {
  const { method, path, requestInfo, user, headers, remoteAddress, auditId } = context;
  const bounded = new BoundedText();
  const shown = (text: string | undefined) => JSON.stringify(bounded.cut(text ?? ''));
  const { verb } = attributesOf(method, path, requestInfo, () => context.query);
  const answer = status === 0 ? 'none, the client left' : String(status);
  return [
    `"HTTP" verb=${shown(verb)} URI=${shown(shownUri(context))} latency="${(seconds * 1000).toFixed(3)}ms"`,
    `user=${shown(user?.username)} userAgent=${shown(headers['user-agent'])} audit-ID=${shown(auditId)}`,
    `srcIP=${shown(remoteAddress)} sentBytes=${sentBytes} resp=${JSON.stringify(answer)}`,
  ].join(' ');
}
