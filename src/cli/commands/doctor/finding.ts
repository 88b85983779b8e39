/**
 * What the doctor says of one thing it has looked at, and how an error becomes such a finding.
 *
 * A finding that is not ok has a cause, a stable word for programs, and says what to do. Causes are told from what a
 * request met, never guessed: what fits nothing here is `unknown`, with the error in its words.
 */
import { isApiError, isExpired, isTransportError } from '../../../client/index.ts';

/** Every cause there is: a new one needs a row in docs/cli.md, and a test that puts that fault in. */
export const CAUSES = [
  'certificate-expired',
  'certificate-expires',
  'clock-skew',
  'connect-timeout',
  'connection-refused',
  'connection-reset',
  'cut',
  'disk-full',
  'ended-early',
  'expired',
  'forbidden',
  'garbled',
  'half-open',
  'late-events',
  'left-behind',
  'lost-events',
  'many-expired',
  'no-answer',
  'no-bookmarks',
  'not-an-api-server',
  'not-held',
  'open-to-others',
  'refused',
  'server-error',
  'server-timeout',
  'slow-answers',
  'slow-bytes',
  'slow-watchers',
  'tls-not-verified',
  'too-many-requests',
  'truncated',
  'unauthorized',
  'unavailable',
  'unknown',
  'untrusted-certificate',
] as const;

export type Cause = (typeof CAUSES)[number];

export type Level = 'ok' | 'skipped' | 'warning' | 'failure';

export type Finding = {
  readonly check: string;
  readonly level: Level;
  readonly message: string;
  readonly cause?: Cause;
  readonly remedy?: string;
  /** Numbers, for programs. */
  readonly data?: Readonly<Record<string, unknown>>;
};

export const ok = (check: string, message: string, data?: Finding['data']): Finding => ({
  check,
  level: 'ok',
  message,
  ...(data && { data }),
});
export const skipped = (check: string, message: string): Finding => ({ check, level: 'skipped', message });

type Judgement = { readonly level: Level; readonly cause: Cause; readonly found: string; readonly remedy: string };

/** `what` begins the sentence: "the list of configmaps". */
export function findingOf(check: string, what: string, err: unknown): Finding {
  const { level, cause, found, remedy } = judge(err);
  return { check, level, cause, message: `${what}: ${found}`, remedy };
}

export function judge(err: unknown): Judgement {
  const text = err instanceof Error ? err.message : String(err);
  if (isExpired(err))
    return failure(
      'expired',
      `410 ${err.reason}: ${text}`,
      'The version asked for is gone: keep more history (--auto-compaction-retention, --default-watch-cache-size; of etcd --auto-compaction-retention), and let clients use bookmarks.',
    );
  if (isApiError(err))
    return judgeRefusal(
      err.code,
      `${err.code} ${err.reason}: ${text}`,
      err.status.reason === undefined && /^<[!a-z]/i.test(text),
    );
  if (isTransportError(err)) return judgeTransport(err.phase, err.code ?? '', err.isTimeout, text, err.cause);
  if ((err as { isEndedEarly?: boolean }).isEndedEarly)
    return failure(
      'ended-early',
      text,
      'A proxy with a limit on the length of answers, or a server that is being restarted: raise that limit.',
    );
  return failure('unknown', text, 'This is nothing the doctor knows; --v 8 shows the requests.');
}

function judgeRefusal(code: number, found: string, isForeign: boolean): Judgement {
  if (code === 401)
    return failure(
      'unauthorized',
      found,
      'The credentials of this context are not accepted: renew the token or the certificate.',
    );
  if (code === 403)
    return {
      level: 'warning',
      cause: 'forbidden',
      found,
      remedy: 'This user may not do that: use another context, or have the right given.',
    };
  if (code === 429)
    return failure(
      'too-many-requests',
      found,
      'Flow control sends requests away: see which level is full (`kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels`), ask less often, or give the flow more seats.',
    );
  if (isForeign)
    return failure(
      'not-an-api-server',
      found,
      'Something on the way answered in the place of the API server: look at load balancers and proxies.',
    );
  if (code === 503)
    return failure(
      'unavailable',
      found,
      'The server, or a part it needs, is not ready: look at /readyz?verbose and its log.',
    );
  if (code === 504)
    return failure('server-timeout', found, 'The server ran out of time: look at its store and its load.');
  if (code >= 500) return failure('server-error', found, 'The server failed: its log says why.');
  return failure('refused', found, 'The server refused what every cluster should answer: is it an API server?');
}

function judgeTransport(phase: string, code: string, isTimeout: boolean, text: string, cause: unknown): Judgement {
  if (phase === 'connect' && /CERT_(HAS_EXPIRED|NOT_YET_VALID)/.test(code))
    return failure('certificate-expired', text, 'Renew the certificate of the server, or set the clocks by NTP.');
  if (phase === 'connect' && /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/.test(code))
    return failure(
      'untrusted-certificate',
      text,
      'The certificate is not of the authority in the kubeconfig, or not for this name: take the kubeconfig of this very server.',
    );
  if (phase === 'connect' && isTimeout)
    return failure(
      'connect-timeout',
      text,
      'Nobody answers at this address: look at the address, firewalls and routes.',
    );
  if (phase === 'connect' && code === 'ECONNREFUSED')
    return failure(
      'connection-refused',
      text,
      'Nothing listens there: start the server, or correct the address in the kubeconfig.',
    );
  if (phase === 'connect')
    return failure(
      'connection-reset',
      text,
      'Something closes connections before they are used: look at load balancers, proxies and firewalls.',
    );
  if (isTimeout)
    return failure(
      'no-answer',
      text,
      'The connection stands and nothing answers: the server hangs, or a proxy holds requests back.',
    );
  if (cause instanceof SyntaxError)
    return failure('garbled', text, 'What arrives is not what the server sent: look at proxies that rewrite bodies.');
  if (/ended inside an event/.test(text))
    return failure('truncated', text, 'Answers are cut short: look at proxies with limits on size or time.');
  if (/is no list of objects|no JSON|Unexpected token/.test(text))
    return failure(
      'not-an-api-server',
      text,
      'Something on the way answered in the place of the API server: look at load balancers and proxies.',
    );
  return failure(
    'cut',
    text,
    'Something on the way resets connections: look at load balancers, proxies and their time-outs.',
  );
}

function failure(cause: Cause, found: string, remedy: string): Judgement {
  return { level: 'failure', cause, found, remedy };
}
