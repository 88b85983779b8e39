/**
 * Stands before a server with any certificate and changes what it answers, as proxies and other servers do: headers, whole
 * answers, lines of watches. What it is not told to change it passes on.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { credentialsOf, type TestServer } from '../../../src/testing/index.ts';

export type Alterations = {
  readonly certificate: { readonly certPem: string; readonly keyPem: string };
  readonly headers?: (headers: IncomingHttpHeaders) => IncomingHttpHeaders;
  /** Of answers that are no watches, by path. */
  readonly body?: (path: string, text: string) => string;
  /** Of watches; what it returns is sent, with a line end. */
  readonly line?: (line: string) => string | undefined;
  /** Lines of watches wait so long. */
  readonly holdMs?: number;
};

export async function startAlteringFront(
  server: TestServer,
  {
    certificate,
    headers = (same) => same,
    body = (_path, same) => same,
    line = (same) => same,
    holdMs = 0,
  }: Alterations,
): Promise<AsyncDisposable & { readonly kubeconfigPath: string }> {
  const { ca, token } = credentialsOf(server.dataDir, server.kubeconfigPath);
  const agent = new Agent({ ca, keepAlive: true });
  const answer = async (coming: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(coming.url ?? '/', server.url);
    const sent = request(`${server.url}${coming.url}`, { agent, method: coming.method, headers: coming.headers });
    sent.on('error', () => response.destroy());
    response.on('close', () => sent.destroy());
    coming.pipe(sent);
    const [from] = (await once(sent, 'response')) as [IncomingMessage];
    from.on('error', () => response.destroy());
    const { 'content-length': _length, ...passed } = headers(from.headers);
    response.sendDate = false;
    response.writeHead(from.statusCode ?? 500, passed);
    if (searchParams.get('watch')) {
      response.flushHeaders();
      let rest = '';
      for await (const chunk of from) {
        const lines = `${rest}${chunk}`.split('\n');
        rest = lines.pop()!;
        const altered = lines.map(line).filter((one) => one !== undefined);
        const text = altered.map((one) => `${one}\n`).join('');
        if (holdMs === 0) response.write(text);
        else setTimeout(() => response.write(text), holdMs);
      }
      response.end();
      return;
    }
    const parts: Buffer[] = [];
    for await (const part of from) parts.push(part as Buffer);
    const whole = Buffer.concat(parts);
    const text = whole.toString();
    const altered = body(pathname, text);
    response.end(altered === text ? whole : altered);
  };
  const listener = createServer({ cert: certificate.certPem, key: certificate.keyPem }, (coming, response) => {
    answer(coming, response).catch(() => response.destroy());
  });
  listener.on('tlsClientError', () => {});
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const kubeconfigPath = join(server.dataDir, `front-${port}.kubeconfig`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': base64(ca) } },
    ],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfigPath, JSON.stringify(config), { mode: 0o600 });
  return {
    kubeconfigPath,
    async [Symbol.asyncDispose]() {
      listener.close();
      listener.closeAllConnections();
      agent.destroy();
    },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
