/** HTTPS servers on loopback for the server to call: webhooks, converters, extension API servers. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { JsonObject } from '../../api/index.ts';
import { makeAuthority, makeServingCertificate } from '../../certificates/certificate.ts';

export type HookRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed, if it is JSON. */
  readonly body: JsonObject;
  /** Of the connection it came by. */
  readonly connection: TLSSocket;
};

/** What is sent as JSON; a `raw` text with its status; nothing at all. */
export type HookAnswer = JsonObject | { raw: string; status?: number; type?: string; cut?: boolean } | 'hang';

export type Hook = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  /** The authority of its certificate: PEM in base64. */
  readonly caBundle: string;
  readonly requests: HookRequest[];
  /** How it answers; may be changed at any time. */
  answer: (request: HookRequest) => HookAnswer | Promise<HookAnswer>;
  close(): Promise<void>;
};

const DAY_MS = 24 * 3600 * 1000;
const validity = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + DAY_MS) };
const subject = { commonName: 'hook-ca' };

export type HookCredentials = { readonly cert: string; readonly key: string; readonly authority: string };

/** Of a server on loopback, and of those other names. */
export function hookCredentials(hosts: readonly string[] = []): HookCredentials {
  const authority = makeAuthority(subject, validity);
  const key = createPrivateKey(authority.keyPem);
  const { certPem, keyPem } = makeServingCertificate(
    { subject, key, publicKey: createPublicKey(key) },
    { commonName: 'hook' },
    ['127.0.0.1', 'localhost', ...hosts],
    validity,
  );
  return { cert: certPem, key: keyPem, authority: authority.certPem };
}

export async function startHook(answer: Hook['answer'], { hosts = [] as string[] } = {}): Promise<Hook> {
  const { cert, key, authority } = hookCredentials(hosts);
  const options = { cert, key, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const got: HookRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: text === '' ? {} : (JSON.parse(text) as JsonObject),
      connection: request.socket as TLSSocket,
    };
    hook.requests.push(got);
    const made = await hook.answer(got);
    if (made === 'hang') return;
    const { raw, status, type, cut } =
      'raw' in made
        ? (made as { raw: string; status?: number; type?: string; cut?: boolean })
        : { raw: JSON.stringify(made) };
    response.writeHead(status ?? 200, { 'content-type': type ?? 'application/json' });
    if (cut) response.write(raw, () => request.socket.destroy());
    else response.end(raw);
  });
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy(); // also those whose handshake is under way
    await closed;
  };
  const hook: Hook = {
    url: `https://127.0.0.1:${port}`,
    port,
    caBundle: Buffer.from(authority).toString('base64'),
    requests: [],
    answer,
    close,
    [Symbol.asyncDispose]: close,
  };
  return hook;
}
