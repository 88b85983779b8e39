/**
 * An API server that has many pods and nothing else, in a process of its own: what it costs is not its client's. It has
 * all answers ready: the initial state as a stream, in pages, and in one piece where version 0 is asked for, as
 * kube-apiserver does whatever the limit says. Run by client-turns.test.ts.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const pods = Number(process.argv[2]);
const VERSION = '70000';
const NAMESPACES = 20;

function podText(i: number, head: string): string {
  const name = `web-${i}`;
  const namespace = `team-${i % NAMESPACES}`;
  const meta = `{"name":"${name}","namespace":"${namespace}","uid":"uid-${i}","resourceVersion":"${i + 1}"`;
  const labels = `"labels":{"app":"web-${i % 100}","track":"stable"},"annotations":{"note":"said \\"so\\" {[ é"}`;
  const spec = `{"nodeName":"node-${i % 500}","containers":[{"name":"web","image":"registry.example.com/web:1"}]}`;
  return `{${head}"metadata":${meta},${labels}},"spec":${spec},"status":{"phase":"Running"}}`;
}

const all = Array.from({ length: pods }, (_, i) => i);
const items = all.map((i) => podText(i, ''));
const KIND = '"kind":"Pod","apiVersion":"v1",';
const events = Buffer.from(all.map((i) => `{"type":"ADDED","object":${podText(i, KIND)}}\n`).join(''));
const END = `{"type":"BOOKMARK","object":{${KIND}"metadata":{"resourceVersion":"${VERSION}","annotations":{"k8s.io/initial-events-end":"true"}}}}\n`;

function listText(from: number, limit: number): string {
  const to = Math.min(pods, from + limit);
  const next = to < pods ? `,"continue":"${to}"` : '';
  const meta = `{"resourceVersion":"${VERSION}"${next}}`;
  return `{"kind":"PodList","apiVersion":"v1","metadata":${meta},"items":[${items.slice(from, to).join(',')}]}`;
}

async function send(response: ServerResponse, bytes: Buffer): Promise<void> {
  const PIECE = 64 * 1024;
  for (let at = 0; at < bytes.length; at += PIECE)
    if (!response.write(bytes.subarray(at, at + PIECE))) await once(response, 'drain');
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url!, 'http://localhost');
  response.on('error', () => {});
  response.setHeader('content-type', 'application/json');
  if (url.pathname !== '/api/v1/pods') {
    response.statusCode = 404;
    response.end('{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"NotFound","code":404}');
  } else if (url.searchParams.has('watch')) {
    if (!url.searchParams.has('sendInitialEvents')) return void response.flushHeaders();
    await send(response, events);
    response.write(END);
  } else if (url.searchParams.get('resourceVersion') === '0') {
    await send(response, Buffer.from(listText(0, pods)));
    response.end();
  } else {
    const from = Number(url.searchParams.get('continue') ?? 0);
    response.end(listText(from, Number(url.searchParams.get('limit') ?? pods)));
  }
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.on('disconnect', () => process.exit());
process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
