/**
 * Bare Node where the server under test stands: it answers a request at once, or after a round trip to the webhook, by
 * `request` of undici, as most programs use that. What that adds is what the wire, the client and two more changes of process
 * cost on this machine, before anybody has thought about the object.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Pool } from 'undici';
import { obey, type Ready } from '../server-control.ts';

export type Told = { readonly dataDir: string; readonly hookPort: number; readonly review: string };

const { dataDir, hookPort, review }: Told = JSON.parse(process.argv[2]!);
const pki = join(dataDir, 'pki');
const read = (name: string) => readFileSync(join(pki, name));
const hook = new Pool(`https://127.0.0.1:${hookPort}`, { connect: { ca: read('ca.crt') } });
const headers = { 'content-type': 'application/json' };
const tls = { cert: read('server.crt'), key: read('server.key'), noDelay: true };
const server = createServer(tls, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    if (request.url!.includes('hooked')) {
      const { body } = await hook.request({ path: '/?timeout=10s', method: 'POST', headers, body: review });
      await body.json();
    }
    const answer = Buffer.concat(chunks);
    response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': String(answer.length) });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
obey(async () => {
  server.close();
  server.closeAllConnections();
  await hook.destroy();
  process.disconnect();
});
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port } satisfies Ready));
