/** A real HTTP server on a real port, with clients of both protocols, and handlers the test can take by the hand. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, type Settings } from 'node:http2';
import { Agent, type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { authenticateBy, certificateAuthenticator } from '../../../src/server/auth/authenticator.ts';
import { mastersOnly } from '../../../src/server/auth/authorizer.ts';
import { adminToken, tokenAuthenticator } from '../../../src/server/auth/bearer-tokens.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '../../../src/server/http/http-server.ts';
import type { RequestContext } from '../../../src/server/request/request-context.ts';
import { ensurePki, type Pki } from '../../../src/server/serving/pki.ts';

export const TOKEN = 'the-token-of-the-administrator';
/** Another user who may do everything. */
export const OTHER_TOKEN = 'the-token-of-somebody-else';

const KNOWN = [
  adminToken(TOKEN),
  { token: OTHER_TOKEN, user: { username: 'somebody-else', groups: ['system:masters'] } },
];

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer };
type Ask = {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  anonymous?: boolean;
};

export type HttpServerUnderTest = AsyncDisposable & {
  httpServer: HttpServer;
  pki: Pki;
  logged: string[];
  get(path: string, ask?: Ask): Promise<Answer>;
  get2(path: string, ask?: Ask): Promise<Answer>;
  session(settings?: Settings): ClientHttp2Session;
  raw(): Promise<TLSSocket>;
};

export async function httpServerUnderTest(
  handle: (context: RequestContext) => void | Promise<void>,
  options: Partial<HttpServerOptions> = {},
): Promise<HttpServerUnderTest> {
  const dataDir = mkdtempSync(join(tmpdir(), 'longwatch-front-'));
  const pki = ensurePki({ dataDir });
  rmSync(dataDir, { recursive: true });
  const logged: string[] = [];
  const httpServer = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    tls: { cert: pki.serving.certPem, key: pki.serving.keyPem, clientAuthorities: [pki.authorityPem] },
    authenticate: authenticateBy([tokenAuthenticator(KNOWN), certificateAuthenticator()], true),
    authorizer: mastersOnly,
    handle,
    log: (message) => logged.push(message),
    ...options,
  });
  const ca = pki.authorityPem;
  const agent = new Agent({ keepAlive: true, ca });
  const sessions = new Set<ClientHttp2Session>();
  const headersOf = ({ headers = {}, anonymous = false }: Ask) =>
    anonymous ? headers : { authorization: `Bearer ${TOKEN}`, ...headers };
  const session = (settings: Settings = {}) => {
    const made = connectHttp2(`https://localhost:${httpServer.port}`, { ca, settings });
    made.on('error', () => {});
    sessions.add(made);
    return made;
  };
  let shared: ClientHttp2Session | undefined;
  return {
    httpServer,
    pki,
    logged,
    session,
    get: (path, ask = {}) =>
      new Promise((resolve, reject) => {
        const wanted: RequestOptions = {
          host: '127.0.0.1',
          port: httpServer.port,
          path,
          agent,
          method: ask.method ?? 'GET',
        };
        const sent = request({ ...wanted, headers: headersOf(ask) }, (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', reject);
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
          );
        });
        sent.on('error', reject);
        sent.end(ask.body);
      }),
    get2: (path, ask = {}) =>
      new Promise((resolve, reject) => {
        if (!shared || shared.closed || shared.destroyed) shared = session();
        const stream = shared.request({ ':path': path, ':method': ask.method ?? 'GET', ...headersOf(ask) });
        const parts: Buffer[] = [];
        let headers: NodeJS.Dict<string | string[]> = {};
        stream.on('response', (got) => {
          headers = got as NodeJS.Dict<string | string[]>;
        });
        stream.on('data', (part: Buffer) => parts.push(part));
        stream.on('error', reject);
        stream.on('end', () => resolve({ status: Number(headers[':status']), headers, body: Buffer.concat(parts) }));
        stream.end(ask.body);
      }),
    raw: async () => {
      const socket = connectTls({ host: '127.0.0.1', port: httpServer.port, ca, ALPNProtocols: ['http/1.1'] });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      return socket;
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await setImmediate(); // Node 20 must not end a session in the turn in which a stream of it is reset
      for (const made of sessions) made.destroy();
      await httpServer.close();
    },
  };
}

/** A record of TLS for each byte, until all are sent or the other side has had enough; says how many were sent. */
export async function sendOneByOne(socket: TLSSocket, count: number): Promise<number> {
  const one = Buffer.from('a');
  for (let sent = 0; sent < count; sent++) {
    const err = await new Promise((resolve) => socket.write(one, resolve));
    if (err || socket.destroyed) return sent;
  }
  return count;
}

/** Everything a socket still gets until the other side ends it. */
export async function restOf(socket: TLSSocket): Promise<string> {
  let text = '';
  for await (const part of socket) text += part.toString('latin1');
  return text;
}

/** Resolves with what the socket has got as soon as `pattern` is in it. */
export function untilSeen(socket: TLSSocket, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (part: Buffer) => {
      text += part.toString('latin1');
      if (!pattern.test(text)) return;
      socket.off('data', onData);
      resolve(text);
    };
    socket.on('data', onData);
    socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text.slice(-200))}`)));
  });
}
