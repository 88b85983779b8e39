/**
 * `/ui/`: the page, served by the server itself, behind the same login as the API.
 *
 *   GET /ui/                the page; for whoever has no credentials a 401 with the page that asks for a token
 *   GET /ui/session         with the token as for any request: a session, which is a cookie and a secret of the page's
 *   GET /ui/k8s/PATH        GET PATH, with the token of the session, for the paths that the page shows
 *
 * Always true: a session stands for the token it was opened with and nothing else: every request authenticates that token again, and
 * passes the whole handler chain as what it really is, flow control, rights and audit included. It counts for paths below `/ui/`
 * only, for GET, from the page itself; who has a client certificate needs none. The API itself knows no cookies.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  COOKIE_ATTRIBUTES,
  cookieIn,
  pageFile,
  pageHeaders,
  pageRead,
  refusalOfPage,
  SealedSessions,
} from '../../web/index.ts';
import type { Authorizer } from '../auth/authorizer.ts';
import { parseBearerHeader } from '../auth/bearer-header.ts';
import type { RequestContext } from '../request/request-context.ts';

const ROOT = '/ui/';
const READS = '/ui/k8s';
const COOKIE = 'longwatch-ui';
const LIFETIME_MS = 12 * 60 * 60 * 1000;
/** What holds nothing, and so is for everybody. */
const FILES = new Set(['/ui', ROOT, '/ui/page.js', '/ui/page.css', '/ui/icon.svg']);
/** For whoever is known, whatever their rights: what they read then is up to those. */
const OF_USERS = new Set(['/ui/page.json', '/ui/session']);

type Head = {
  readonly method: string;
  readonly path: string;
  readonly queryText: string;
  readonly headers: IncomingHttpHeaders;
};

export class Ui {
  readonly #sessions: SealedSessions;

  /** `secret`: what all threads of the server have, and nobody else. */
  constructor(secret: Uint8Array) {
    this.#sessions = new SealedSessions(secret, LIFETIME_MS);
  }

  /** What a request of the page really asks for, and as whom; any other as it is. */
  readonly readdress = <H extends Head>(head: H): H => {
    const { method, path, queryText, headers } = head;
    if (!path.startsWith(ROOT) || (method !== 'GET' && method !== 'HEAD')) return head;
    const host = headers.host ?? String(headers[':authority'] ?? '');
    const where = { hosts: [host.toLowerCase()], scheme: 'https', isNavigation: path === ROOT } as const;
    if (refusalOfPage({ ...headers, host }, where) !== undefined) return head;
    const isRead = path.startsWith(`${READS}/`) && pageRead(path.slice(READS.length), queryText) !== undefined;
    return { ...head, headers: this.#credentialsOf(head), ...(isRead && { path: path.slice(READS.length) }) };
  };

  /** The headers with the token of the session; as they are if they show another credential, or a session that does not count. */
  #credentialsOf({ path, headers }: Head): IncomingHttpHeaders {
    const cookie = cookieIn(headers.cookie, COOKIE);
    if (headers.authorization !== undefined || cookie === undefined) return headers;
    const secret = headers['x-longwatch-page'];
    const token = FILES.has(path)
      ? this.#sessions.ownerOf(cookie)
      : this.#sessions.readerOf(cookie, typeof secret === 'string' ? secret : undefined);
    return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
  }

  /** What the page is made of needs no rule; everything that it reads does. */
  allowing(inner: Authorizer): Authorizer {
    return {
      rulesFor: (user, namespace) => inner.rulesFor(user, namespace),
      authorize: (user, attributes) => {
        const isForAll = attributes.kind === 'path' && attributes.verb === 'get' && FILES.has(attributes.path);
        const isForUsers = attributes.kind === 'path' && attributes.verb === 'get' && OF_USERS.has(attributes.path);
        if (isForAll || (isForUsers && user.groups.includes('system:authenticated'))) return { allowed: true };
        return inner.authorize(user, attributes);
      },
    };
  }

  /** False: not asked for here. */
  handle(context: RequestContext): boolean {
    const { path, method, headers, user } = context;
    if (path !== '/ui' && !path.startsWith(ROOT)) return false;
    const answer = (status: number, type: string, body: string | Buffer, more: Record<string, string> = {}) =>
      context.send(status, type, Buffer.from(body), { ...pageHeaders(), ...more });
    if (method !== 'GET' && method !== 'HEAD') {
      answer(405, 'text/plain; charset=utf-8', 'Cannot do this: the page only reads\n');
      return true;
    }
    if (path === '/ui') {
      answer(308, 'text/plain; charset=utf-8', '', { location: ROOT });
      return true;
    }
    const name = path.slice(ROOT.length);
    const file = pageFile(name);
    if (file) answer(name === '' && !isKnown(user) ? 401 : 200, file.type, file.bytes);
    else if (name === 'page.json') {
      const server = headers.host ?? String(headers[':authority'] ?? '');
      answer(200, 'application/json', JSON.stringify({ kind: 'cluster', name: server, server, root: 'k8s' }));
    } else if (name === 'session') this.#open(context, answer);
    else answer(404, 'text/plain; charset=utf-8', `Cannot find ${path}: the page has no business there\n`);
    return true;
  }

  #open(
    { headers }: RequestContext,
    answer: (status: number, type: string, body: string, more?: Record<string, string>) => void,
  ): void {
    const { token } = parseBearerHeader(headers.authorization);
    if (token === undefined) {
      answer(200, 'application/json', '{}'); // a certificate: there is no need of a session
      return;
    }
    const session = this.#sessions.open(token);
    if (!session) {
      answer(431, 'text/plain; charset=utf-8', 'Cannot open a session: the token is too long for a cookie\n');
      return;
    }
    const { cookie, page } = session;
    answer(200, 'application/json', JSON.stringify({ page }), {
      'set-cookie': `${COOKIE}=${cookie}; Path=/ui/; Secure; ${COOKIE_ATTRIBUTES}`,
    });
  }
}

function isKnown({ groups }: RequestContext['user']): boolean {
  return groups.includes('system:authenticated');
}
