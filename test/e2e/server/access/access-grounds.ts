/**
 * A server to break into, and the tools: requests with any headers in any spelling, tokens with any claims.
 *
 * The server is a real one with real TLS, in this process. Requests go out as they are written: paths are not cleaned
 * up, headers are not merged.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../../../src/server/index.ts';
import { signToken, tokenKey } from '../../../../src/server/tokens/jwt.ts';

export type Answer = {
  readonly code: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  readonly body: any;
};

export type Ask = {
  readonly method?: string;
  readonly token?: string | undefined;
  /** Names and values in turn, sent as they are. */
  readonly headers?: readonly string[];
  readonly body?: unknown;
  readonly contentType?: string;
  readonly certificate?: { readonly certPem: string; readonly keyPem: string };
};

export type Stream = { readonly code: number; readonly lines: string[]; readonly ended: Promise<void>; close(): void };

export type Grounds = AsyncDisposable & {
  readonly dataDir: string;
  readonly adminToken: string;
  ask(path: string, options?: Ask): Promise<Answer>;
  /** As the administrator, patches as JSON patches; refusals throw. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server says
  admin(method: string, path: string, body?: unknown): Promise<any>;
  watch(path: string, options?: Ask): Promise<Stream>;
  /** A token as the server itself would sign it, with these claims. */
  forge(claims: object, key?: KeyObject): string;
};

export async function startGrounds(): Promise<Grounds> {
  const dataDir = mkdtempSync(join(tmpdir(), 'longwatch-access-'));
  const auditLogPath = join(dataDir, 'audit.log');
  const server = await startServer({ dataDir, securePort: 0, auditLogPath, log: () => {} });
  const { port } = new URL(server.url);
  const ca = readFileSync(join(dataDir, 'pki', 'ca.crt'));
  const adminToken = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
  const ownKey = createPrivateKey(readFileSync(join(dataDir, 'pki', 'service-account.key')));

  const send = (path: string, { method = 'GET', token, headers = [], body, contentType, certificate }: Ask) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
      const all = ['Host', `127.0.0.1:${port}`, ...headers];
      if (token !== undefined) all.push('Authorization', `Bearer ${token}`);
      if (text !== '')
        all.push('Content-Type', contentType ?? 'application/json', 'Content-Length', `${Buffer.byteLength(text)}`);
      const outgoing = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method,
          ca,
          agent: false,
          headers: all,
          ...(certificate && { cert: certificate.certPem, key: certificate.keyPem }),
        },
        resolve,
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });

  const ask = async (path: string, options: Ask = {}): Promise<Answer> => {
    const answer = await send(path, options);
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk;
    return { code: answer.statusCode ?? 0, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
  };

  return {
    dataDir,
    adminToken,
    ask,
    async admin(method, path, body) {
      const contentType = method === 'PATCH' ? 'application/json-patch+json' : 'application/json';
      const { code, text, body: answer } = await ask(path, { method, token: adminToken, body, contentType });
      if (code >= 400) throw new Error(`Cannot ${method} ${path}: ${text}`);
      return answer;
    },
    async watch(path, options = {}) {
      const answer = await send(path, options);
      const lines: string[] = [];
      let rest = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n');
        rest = parts.pop() ?? '';
        lines.push(...parts);
      });
      const ended = new Promise<void>((resolve) => {
        answer.on('close', resolve);
        answer.on('error', () => resolve());
      });
      return { code: answer.statusCode ?? 0, lines, ended, close: () => void answer.destroy() };
    },
    forge: (claims, key = ownKey) => signToken(tokenKey(key), claims),
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
