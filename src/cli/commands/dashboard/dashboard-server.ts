/**
 * The local process behind the page: it holds the credentials and answers the page's reads, and nobody else's.
 *
 *   browser ─ one-time key ─► cookie + the page's own secret ─► GET k8s/... ─ allowed? ─► the cluster, as the kubeconfig says
 *
 * Always true: it listens on 127.0.0.1 only; requests for another host name, of another site, without both secrets, that are no
 * GET, or for a path the page has no business with get nothing, and the cluster does not hear of them. Whatever the cluster
 * refuses is passed on as the Status it is; a cluster that cannot be reached is a 502.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isApiError, type KubeClient } from '../../../client/index.ts';
import {
  COOKIE_ATTRIBUTES,
  cookieIn,
  PageKeys,
  type PageRead,
  pageFile,
  pageHeaders,
  pageRead,
  refusalOfPage,
} from '../../../web/index.ts';

const ADDRESS = '127.0.0.1';
/** Of lists and the like; watches take as long as they take. */
const READ_MS = 60_000;
const MAX_CONNECTIONS = 64;
/** Why a read of the cluster has ended before its time. */
const GONE = new Error('the page has gone');

export type DashboardOptions = {
  readonly client: KubeClient;
  /** 0: a free one. */
  readonly port: number;
  /** What the page calls the cluster. */
  readonly name: string;
  /** A link has been used: here is the next. */
  readonly onLink: (url: string) => void;
};

export interface Dashboard extends AsyncDisposable {
  readonly port: number;
  /** Good once. */
  readonly link: string;
}

export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { client } = options;
  const keys = new PageKeys<true>();
  const server = createServer((request, response) => {
    answer(request, response).catch((err: unknown) => {
      if (response.headersSent) response.destroy();
      else say(response, 500, err instanceof Error ? err.message : String(err));
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(options.port, ADDRESS);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const hosts = [`${ADDRESS}:${port}`, `localhost:${port}`];
  // Of the port: cookies are not, and somebody may have two of these open.
  const cookieName = `longwatch-${port}`;
  const newLink = () => `http://${ADDRESS}:${port}/?key=${keys.issue(true)}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const isReading = path.startsWith('/k8s/');
    const refusal = refusalOfPage(request.headers, { hosts, scheme: 'http', isNavigation: path === '/' });
    if (refusal !== undefined) return say(response, 403, refusal);
    if (request.method !== 'GET') return say(response, 405, 'Cannot do this: the page only reads');
    const key = path === '/' ? new URLSearchParams(query).get('key') : null;
    if (key !== null) return exchange(response, key);
    const cookie = cookieIn(request.headers.cookie, cookieName);
    if (!keys.ownerOf(cookie)) return say(response, 401, NO_SESSION);
    const file = pageFile(path.slice(1));
    if (file) return send(response, 200, file.type, file.bytes);
    if (!keys.readerOf(cookie, headerOf(request, 'x-longwatch-page'))) return say(response, 401, NO_SESSION);
    if (path === '/page.json') return send(response, 200, 'application/json', JSON.stringify(about()));
    const read = isReading ? pageRead(path.slice('/k8s'.length), query) : undefined;
    if (!read) return say(response, 403, `Cannot read ${path}: the page has no business there`);
    await passOn(read, request, response);
  }

  function about() {
    return { kind: 'cluster', name: options.name, server: client.transport.access.server.host, root: 'k8s' };
  }

  function exchange(response: ServerResponse, key: string): void {
    const session = keys.exchange(key);
    if (!session) {
      say(response, 401, NO_SESSION);
      return;
    }
    options.onLink(newLink());
    response.writeHead(303, {
      ...pageHeaders(),
      'set-cookie': `${cookieName}=${session.cookie}; Path=/; ${COOKIE_ATTRIBUTES}`,
      location: `/#page=${session.page}`,
    });
    response.end();
  }

  async function passOn(read: PageRead, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('close', () => gone.abort(GONE));
    const accept = request.headers.accept ?? 'application/json';
    try {
      const { chunks, code, headers } = await client.transport.stream('GET', read.path, {
        query: read.query,
        accept,
        signal: gone.signal,
        ...(!read.isWatch && { timeouts: { totalMs: READ_MS } }),
      });
      const type = headers['content-type'];
      const date = headers.date;
      response.writeHead(code, {
        ...pageHeaders(),
        'content-type': typeof type === 'string' ? type : 'application/json',
        ...(typeof date === 'string' && { date }),
      });
      response.flushHeaders();
      for await (const chunk of chunks) if (!response.write(chunk)) await once(response, 'drain', gone);
      response.end();
    } catch (err) {
      if (gone.signal.aborted) return;
      if (response.headersSent) return void response.destroy(); // the page sees that it was cut
      const [code, message] = isApiError(err) ? [err.code, err.message] : [502, (err as Error).message];
      send(response, code, 'application/json', JSON.stringify({ kind: 'Status', code, message }));
    }
  }

  const first = newLink();
  return {
    port,
    link: first,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const NO_SESSION = 'Cannot show this page: open the link that `longwatch dashboard` printed last; each is good once';

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

function say(response: ServerResponse, code: number, text: string): void {
  send(response, code, 'text/plain; charset=utf-8', `${text}\n`);
}

function send(response: ServerResponse, code: number, type: string, body: string | Buffer): void {
  response.writeHead(code, { ...pageHeaders(), 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
