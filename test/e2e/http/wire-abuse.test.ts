/** Whatever is sent, the answer is a Status or a clean close, and the server goes on as if nothing had been. */
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, ApiClient, credentialsOf, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { CONFIG_MAPS } from '../../support/server/writers.ts';

const MIB = 1024 * 1024;
const YAML = { 'content-type': 'application/yaml' };
const PROTOBUF = { 'content-type': 'application/vnd.kubernetes.protobuf' };
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

let server: TestServer;
let client: ApiClient;
beforeAll(async () => {
  server = await startTestServer({ requestTimeoutMs: 2000 });
  client = server.client;
  await client.create(CONFIG_MAPS, { metadata: { name: 'there' } });
});
afterAll(() => server?.[Symbol.asyncDispose]());

const deepJson = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
const big = (bytes: number) => JSON.stringify({ metadata: { name: 'big' }, data: { a: 'x'.repeat(bytes) } });
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

it.each<[what: string, headers: Record<string, string>, body: string | Buffer]>([
  ['nothing at all', {}, ''],
  ['JSON that breaks off', {}, '{"metadata":{"name":"a"'],
  ['JSON with something after it', {}, '{"metadata":{"name":"a"}} more'],
  ['bytes that are no UTF-8', {}, Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
  ['a list', {}, '[1,2,3]'],
  ['null', {}, 'null'],
  ['a number', {}, '1e400'],
  ['metadata of the wrong type', {}, '{"metadata":[]}'],
  ['a name of the wrong type', {}, '{"metadata":{"name":{"a":1}}}'],
  ['lists in lists, 100,000 deep', {}, deepJson('[', ']', 100_000)],
  ['objects in objects, 50,000 deep', {}, `{"metadata":${deepJson('{"a":', '}', 50_000)}}`],
  ['YAML that is none', YAML, 'a: b: c: [}'],
  ['YAML that names itself', YAML, 'metadata: &a {name: x, labels: *a}'],
  ['YAML that multiplies', YAML, yamlBomb()],
  ['YAML, 20,000 deep', YAML, deepJson('[', ']', 20_000)],
  ['protobuf without its magic', PROTOBUF, Buffer.from('no protobuf')],
  ['protobuf of nothing', PROTOBUF, magic],
  ['protobuf that breaks off', PROTOBUF, Buffer.concat([magic, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1])])],
  ['protobuf of endless groups', PROTOBUF, Buffer.concat([magic, Buffer.alloc(100_000, 0x0b)])],
  ['another media type', { 'content-type': 'application/x-unheard-of' }, 'x'],
  ['a media type that is none', { 'content-type': ';;;' }, '{}'],
])('POST: %s is refused with a Status', async (_what, headers, body) => {
  for (const one of [client, server.connect({ protocol: 'http2' })])
    expectRefusal(await one.ask('POST', CONFIG_MAPS, { headers, body }));
});

it.each<[what: string, headers: Record<string, string>, body: string]>([
  ['a merge patch that is no object', MERGE_PATCH, '[]'],
  ['a merge patch, deep', MERGE_PATCH, `{"metadata":{"annotations":${deepJson('{"a":', '}', 50_000)}}}`],
  ['a JSON patch that is no list', JSON_PATCH, '{}'],
  ['a JSON patch with a path to nowhere', JSON_PATCH, '[{"op":"remove","path":"/a/b/c"}]'],
  ['a JSON patch of 20,000 operations', JSON_PATCH, manyOperations(20_000)],
  ['a JSON patch that copies itself larger and larger', JSON_PATCH, copyBomb()],
  ['a JSON patch to the prototype', JSON_PATCH, '[{"op":"add","path":"/__proto__/polluted","value":"yes"}]'],
  ['an apply without a manager', APPLY, 'apiVersion: v1\nkind: ConfigMap\n'],
  ['a patch of no type', { 'content-type': 'application/json' }, '{}'],
])('PATCH: %s is refused with a Status', async (_what, headers, body) => {
  expectRefusal(await client.ask('PATCH', `${CONFIG_MAPS}/there`, { headers, body }));
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

it.each([
  ['?labelSelector=a%20in%20(', 400],
  ['?labelSelector=====', 400],
  [`?labelSelector=${'a'.repeat(5000)}`, 400],
  ['?fieldSelector=spec.unheardOf=1', 400],
  ['?fieldSelector=%00', 400],
  ['?limit=abc', 400],
  ['?limit=99999999999999999999', 400],
  ['?continue=not-a-token', 400],
  ['?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi9zZWNyZXRzIn0', 400],
  ['?resourceVersion=-1', 400],
  ['?resourceVersion=abc&resourceVersionMatch=Exact', 400],
  ['?resourceVersionMatch=Maybe&resourceVersion=1', 422],
  ['?watch=1&timeoutSeconds=abc', 400],
])('GET %.60s is refused with %d', async (query, status) => {
  const answer = await client.ask('GET', `${CONFIG_MAPS}${query}`);
  expectRefusal(answer);
  expect(answer.status).toBe(status);
});

it('a label selector of 3,000 values is understood or refused, and quickly forgotten', async () => {
  const values = Array.from({ length: 3000 }, (_, i) => `v${i}`).join(',');
  const answer = await client.ask('GET', CONFIG_MAPS, { query: { labelSelector: `a in (${values})` } });
  expect([200, 400, 414, 431]).toContain(answer.status);
});

it('bodies up to the limit are taken and bigger ones refused, also those that do not say how big they are', async () => {
  const taken = await client.ask('POST', CONFIG_MAPS, { body: big(MIB - 2000) });
  expect(taken.status).toBe(201);
  for (const bytes of [2 * MIB, 3 * MIB + 1, 5 * MIB]) {
    const answer = await client.ask('POST', CONFIG_MAPS, { body: big(bytes) }).catch(() => undefined);
    if (answer) expect([400, 413, 422, 500]).toContain(answer.status); // or it closed before it had read it all
    if (answer) expectRefusal(answer);
  }
  const chunked = await rawRequest(
    `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token()}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    Array.from({ length: 5 }, () => `100000\r\n${'x'.repeat(MIB)}\r\n`).join(''),
  );
  expect(chunked).toMatch(/^(HTTP\/1\.1 413 |HTTP\/1\.1 400 |$)/);
  expect((await client.ask('GET', '/readyz')).status).toBe(200);
});

it.each(['nonsense', 'a'.repeat(20_000), '%00%ff'])('a token that is none is refused', async (given) => {
  const answer = await server.connect({ token: given }).ask('GET', CONFIG_MAPS);
  expect(answer.status).toBe(401);
  expectRefusal(answer);
});

it('fields named like parts of every object are unknown fields like others', async () => {
  const fields = '"__proto__":{"data":{"a":"b"}},"constructor":{"prototype":{"polluted":"yes"}}';
  const body = `{"metadata":{"name":"proto","labels":{"a":"b"}},${fields}}`;
  const { status } = await client.ask('POST', CONFIG_MAPS, { body });
  expect(status).toBe(201);
  const stored = await client.get(`${CONFIG_MAPS}/proto`);
  expect(Object.keys(stored).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
  expect(await client.ask('POST', CONFIG_MAPS, { body, query: { fieldValidation: 'Strict' } })).toMatchObject({
    status: 400,
  });
});

it('nobody in particular sees health and version and nothing else', async () => {
  const { ca } = credentialsOf(server.dataDir, server.kubeconfigPath);
  await using nobody = new ApiClient({ url: server.url, ca });
  for (const path of ['/healthz', '/readyz', '/version']) expect((await nobody.ask('GET', path)).status).toBe(200);
  for (const path of [CONFIG_MAPS, '/api/v1/secrets', '/metrics', `${CONFIG_MAPS}?watch=1`])
    expect((await nobody.ask('GET', path)).status).toBe(403);
  expect((await nobody.ask('POST', CONFIG_MAPS, { body: { metadata: { name: 'x' } } })).status).toBe(403);
});

it('a body that comes drop by drop is answered when its time is over', async () => {
  const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token()}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`;
  const answers = await Promise.all(Array.from({ length: 20 }, () => rawRequest(head, '{"met')));
  for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1\.1 (408|504|400) |$)/);
  expect((await client.ask('GET', '/readyz')).status).toBe(200);
});

it('bodies that never end keep nobody from writing', async () => {
  await using crowded = await startTestServer({ maxMutatingRequestsInflight: 5 });
  const { ca, token: admin } = credentialsOf(crowded.dataDir, crowded.kubeconfigPath);
  const sockets: TLSSocket[] = [];
  for (let i = 0; i < 20; i++) {
    const port = Number(new URL(crowded.url).port);
    const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] });
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    socket.write(
      `${i % 2 ? 'POST' : 'PUT'} ${CONFIG_MAPS}${i % 2 ? '' : '/x'} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"met`,
    );
    sockets.push(socket);
  }
  for (let i = 0; i < 20; i++) {
    const body = { metadata: { name: `written-${i}` } };
    expect((await crowded.client.ask('POST', CONFIG_MAPS, { body })).status).toBe(201);
  }
  for (const socket of sockets) socket.destroy();
});

it('thousands of requests at once are answered or rejected with 429, and then it is as before', async () => {
  await using crowded = await startTestServer({ maxRequestsInflight: 20, maxMutatingRequestsInflight: 10 });
  const many = crowded.connect({ protocol: 'http2' });
  const asked = Array.from({ length: 4000 }, (_, i) =>
    i % 2 === 0
      ? many.ask('GET', CONFIG_MAPS)
      : many.ask('POST', CONFIG_MAPS, { body: { metadata: { name: `object-${i}` } } }),
  );
  const codes = new Map<number, number>();
  for (const { status, headers } of await Promise.all(asked)) {
    codes.set(status, (codes.get(status) ?? 0) + 1);
    if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  }
  expect([...codes.keys()].filter((code) => ![200, 201, 429].includes(code))).toEqual([]);
  const { items } = await crowded.client.list(CONFIG_MAPS);
  expect(items).toHaveLength(codes.get(201)!);
}, 60_000);

it('after all of it the server has grown by little and still works', async () => {
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 300; round++) {
    await client.ask('POST', CONFIG_MAPS, { body: deepJson('[', ']', 20_000) });
    await client.ask('GET', CONFIG_MAPS, { query: { labelSelector: `key-${round} in (a,b,c)` } });
  }
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * MIB);
  const { metadata } = await client.create(CONFIG_MAPS, { metadata: { name: 'still-here' } });
  expect((await client.get(`${CONFIG_MAPS}/still-here`)).metadata.uid).toBe(metadata.uid);
  expect(server.logged.filter((line) => /TypeError|RangeError|ReferenceError/.test(line))).toEqual([]);
});

/** A Status in the body with the code of the answer; 4xx, or what kube-apiserver answers with 500. */
function expectRefusal({ status, body }: Answer): void {
  const said = JSON.parse(body.toString('utf8')) as { kind?: string; code?: number; message?: string };
  expect(said).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(said.message).not.toMatch(/Maximum call stack|undefined|\[object|is not a function|Cannot read prop/);
}

function token(): string {
  return credentialsOf(server.dataDir, server.kubeconfigPath).token;
}

/** What comes back on a connection of its own until the server closes it, or the head of an answer. */
async function rawRequest(head: string, body: string): Promise<string> {
  const { ca } = credentialsOf(server.dataDir, server.kubeconfigPath);
  const port = Number(new URL(server.url).port);
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(head);
  socket.write(body);
  let text = '';
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
      if (text.includes('\r\n\r\n')) resolve();
    });
  });
  await closed;
  socket.destroy();
  return text;
}

function yamlBomb(): string {
  const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
  for (let i = 1; i < 10; i++)
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(',')}]`,
    );
  return lines.join('\n');
}

function manyOperations(count: number): string {
  return JSON.stringify(Array(count).fill({ op: 'add', path: '/data', value: {} }));
}

function copyBomb(): string {
  const copy = (i: number) => ({ op: 'copy', from: '/data', path: `/data/d${i}` });
  return JSON.stringify([{ op: 'add', path: '/data', value: {} }, ...Array.from({ length: 40 }, (_, i) => copy(i))]);
}
