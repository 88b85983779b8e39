/** Lists that come compressed: asked for where it pays, read within the limits of a body, and nothing else believed. */
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Transport } from '../../../src/client/advanced.ts';
import { corev1 } from '../../../src/client/index.ts';
import { asksForGzip } from '../../../src/client/transport/compression.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { scriptedServer } from '../../support/client/client-scripted-server.ts';

const LIST = '/api/v1/namespaces/default/configmaps';
const json = { 'content-type': 'application/json' };

it('a long list comes compressed from a server that does so, and is the same list; a short one does not', async () => {
  await using server = await startTestServer();
  const [plain, packed] = [server.connectKube(), server.connectKube({ compression: true })];
  const text = 'many of the same words '.repeat(1500);
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await plain.resource(corev1.configMaps).create({ metadata: { name }, data: { text } });
  const [long, same] = await Promise.all([packed, plain].map(({ transport }) => transport.request('GET', LIST)));
  expect(long!.headers['content-encoding']).toBe('gzip');
  expect(Number(long!.headers['content-length'] ?? 0)).toBeLessThan(text.length);
  expect(same!.headers['content-encoding']).toBeUndefined();
  expect(long!.body).toEqual(same!.body);
  const short = await packed.transport.request('GET', LIST, { query: { limit: 1 } });
  expect(short.headers['content-encoding']).toBeUndefined();
  await using informer = packed.informer(corev1.configMaps, { namespace: 'default' });
  await informer.synced();
  expect(informer.list().map(({ data }) => data?.text === text)).toEqual([true, true, true, true, true]);
});

it('is asked for only of a server elsewhere, for reads, and never for a stream', async () => {
  await using server = await scriptedServer();
  const asks = async (transport: Transport, method: string, isStream = false) => {
    const asked = isStream ? transport.stream(method, '/a') : transport.request(method, '/a');
    const { request, response } = await server.next();
    response.writeHead(200, json).end('{}');
    const answer = await asked;
    if ('close' in answer) answer.close();
    return request.headers['accept-encoding'];
  };
  const near = server.transport();
  const far = server.transport({ compression: true });
  expect([await asks(near, 'GET'), await asks(far, 'GET')]).toEqual([undefined, 'gzip']);
  expect([await asks(far, 'POST'), await asks(far, 'GET', true)]).toEqual([undefined, undefined]);
  const elsewhere = (url: string) => asksForGzip({ server: new URL(url) });
  expect(['http://127.0.0.1:1', 'https://localhost', 'https://[::1]:6443'].map(elsewhere)).toEqual([
    false,
    false,
    false,
  ]);
  expect(['https://10.0.0.1', 'https://127.example.com'].map(elsewhere)).toEqual([true, true]);
});

it.each([
  ['more than the limit, out of little', gzipSync(Buffer.alloc(5_000_000, ' ')), 'gzip', /over 1000000 bytes/],
  [
    'half of it',
    gzipSync(Buffer.from(JSON.stringify({ a: 'x'.repeat(5000) }))).subarray(0, 30),
    'gzip',
    /unexpected end/,
  ],
  ['something else', Buffer.from('{"a":1}'), 'gzip', /incorrect header check/],
  ['in a form that nobody asked for', Buffer.from('{"a":1}'), 'br', /it is encoded as "br", which was not asked for/],
])('an answer that is %s is refused', async (_what, bytes, encoding, sentence) => {
  await using server = await scriptedServer();
  const transport = server.transport({ compression: true, maxBodyBytes: 1_000_000, maxTries: 1 });
  const asked = transport.request('GET', '/a');
  const { response } = await server.next();
  response.writeHead(200, { ...json, 'content-encoding': encoding }).end(bytes);
  await expect(asked).rejects.toThrow(sentence);
  await expect(asked).rejects.toMatchObject({ name: 'TransportError', phase: 'body' });
});
