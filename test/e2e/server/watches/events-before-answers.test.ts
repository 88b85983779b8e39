/**
 * A controller that writes and watches should have the event of its own write no later than the answer: else it decides
 * on what it has just changed. Sockets become readable in the order in which the server writes to them, and both ends
 * live in this process, so the order here is the order there.
 */
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { credentialsOf, startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
let server: TestServer;
let token: string;

beforeAll(async () => {
  server = await startTestServer();
  ({ token } = credentialsOf(server.dataDir, server.kubeconfigPath));
});
afterAll(() => server[Symbol.asyncDispose]());

async function dial(): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

function head(method: string, path: string, body?: string): string {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const length = body === undefined ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${length}\r\n${body ?? ''}`;
}

test('the event of a write is on its way before the answer', async () => {
  const [watch, write] = [await dial(), await dial()];
  const seen: string[] = [];
  let wake = () => {};
  const hear = (what: 'event' | 'answer', pattern: RegExp) => (data: Buffer) => {
    for (const [, count] of data.toString('latin1').matchAll(pattern)) seen.push(`${what} ${count}`);
    wake();
  };
  const until = async (length: number) => {
    while (seen.length < length) await new Promise<void>((resolve) => (wake = resolve));
  };
  watch.on('data', hear('event', /"data":\{"count":"(\d+)"\}/g));
  write.on('data', hear('answer', /"data":\{"count":"(\d+)"\}/g));
  watch.write(head('GET', `${MAPS}?watch=true&resourceVersion=0`));
  await once(watch, 'data'); // it is open
  const map = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'one' }, data: { count: '0' } };
  write.write(head('POST', MAPS, JSON.stringify(map)));
  await until(2);
  for (let count = 1; count <= 50; count++) {
    write.write(head('PATCH', `${MAPS}/one`, JSON.stringify({ data: { count: String(count) } })));
    await until(2 + 2 * count);
  }
  watch.destroy();
  write.destroy();
  const order = seen.slice(2);
  expect(order).toEqual(Array.from({ length: 50 }, (_, i) => [`event ${i + 1}`, `answer ${i + 1}`]).flat());
});
