/** A webhook that allows everything, in a process of its own, with the certificates of a server's folder. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { obey, type Ready } from '../server-control.ts';

const pki = join(process.argv[2]!, 'pki');
const tls = { cert: readFileSync(join(pki, 'server.crt')), key: readFileSync(join(pki, 'server.key')), noDelay: true };
const server = createServer(tls, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const uid = /"uid":"([^"]+)"/.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? '';
    const answer = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"${uid}","allowed":true}}`;
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': String(answer.length) });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
obey(() => {
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port } satisfies Ready));
