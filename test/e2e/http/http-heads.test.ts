/** Heads of requests that are too large, too strange or no HTTP at all: each is told so, as by Go's server, and costs little. */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/server/request/request-context.ts';
import { httpServerUnderTest, restOf, sendOneByOne, TOKEN } from './http-server-under-test.ts';

const echo = (context: RequestContext) => {
  const { user, headers } = context;
  context.send(200, 'application/json', Buffer.from(JSON.stringify({ user, headers: Object.keys(headers) })));
};
const plain = (line: string, body = line) =>
  `HTTP/1.1 ${line}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

it.each([
  ['no Host', 'GET /version HTTP/1.1\r\n\r\n', '400 Bad Request: missing required Host header'],
  ['two Hosts', 'GET /version HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n', '400 Bad Request: too many Host headers'],
  ['a Host that is none', 'GET /version HTTP/1.1\r\nHost: a/b\r\n\r\n', '400 Bad Request: malformed Host header'],
  ['no version', 'GET /version\r\nHost: a\r\n\r\n', '400 Bad Request'],
  [
    'the version of another protocol',
    'GET /version HTTP/2.0\r\nHost: a\r\n\r\n',
    '505 HTTP Version Not Supported: unsupported protocol version',
  ],
])('refuses a request with %s as Go does', async (_what, request, line) => {
  await using server = await httpServerUnderTest(echo);
  const socket = await server.raw();
  socket.write(request);
  expect(await restOf(socket)).toBe(plain(line));
});

it.each([
  ['an empty Host', 'GET /version HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
  ['a Host of IPv6', 'GET /version HTTP/1.1\r\nHost: [::1]:6443\r\nConnection: close\r\n\r\n'],
  ['no Host in HTTP/1.0', 'GET /version HTTP/1.0\r\n\r\n'],
])('serves a request with %s', async (_what, request) => {
  await using server = await httpServerUnderTest(echo);
  const socket = await server.raw();
  socket.write(request);
  expect(await restOf(socket)).toMatch(/^HTTP\/1\.1 200 OK/);
});

it('takes a head that comes byte by byte, and cuts off one that goes on so', async () => {
  await using server = await httpServerUnderTest(echo);
  const patient = await server.raw();
  patient.write('GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ');
  expect(await sendOneByOne(patient, 900)).toBe(900);
  patient.write('\r\n\r\n');
  expect(await restOf(patient)).toMatch(/^HTTP\/1\.1 200 OK/);
  const endless = await server.raw();
  endless.write(`GET /version HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(900_000)}`);
  expect(await sendOneByOne(endless, 60_000)).toBeLessThan(60_000);
  expect((await server.get('/version')).status).toBe(200);
});

it('answers what is wrong in its turn, after what was asked before', async () => {
  await using server = await httpServerUnderTest(echo);
  const socket = await server.raw();
  socket.write('GET /version HTTP/1.1\r\nHost: a\r\n\r\nGET /version HTTP/1.1\r\n\r\n');
  expect(await restOf(socket)).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 400 Bad Request: missing/);
});

it.each(['GET', 'HEAD', 'POST', 'PUT'])('tells a client that speaks HTTP without TLS: %s', async (method) => {
  await using server = await httpServerUnderTest(echo);
  const socket = connectTcp(server.httpServer.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`${method} /version HTTP/1.1\r\nHost: a\r\n\r\n`);
  let text = '';
  for await (const part of socket) text += part;
  expect(text).toBe('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
  expect((await server.get('/version')).status).toBe(200);
});

it('says nothing to what is neither', async () => {
  await using server = await httpServerUnderTest(echo);
  const socket = connectTcp(server.httpServer.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('\0\0\0\0 nothing that anybody knows\r\n');
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
  });
  await once(socket, 'close');
  expect(bytes).toBeLessThan(16); // at most an alert of TLS
});

it.each<[header: string | undefined, status: number, warning: string | undefined]>([
  ['Bearer x, y', 401, undefined],
  [`Bearer ${TOKEN}, y`, 401, undefined],
  [`Bearer ${TOKEN} y`, 200, undefined],
  ['Bearer', 403, undefined],
  ['Basic dTpw', 403, undefined],
  [
    `Bearer  ${TOKEN}`,
    403,
    '299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"',
  ],
])('Authorization: %s', async (authorization, status, warning) => {
  await using server = await httpServerUnderTest(echo);
  for (const get of ['get', 'get2'] as const) {
    const answer = await server[get]('/api', { anonymous: true, headers: { authorization: authorization! } });
    expect([answer.status, answer.headers.warning]).toEqual([status, warning]);
  }
});

describe.each(['get', 'get2'] as const)('over %s', (get) => {
  it.each([
    ['accept', 'a/b,'.repeat(2049)],
    ['accept-encoding', 'gzip,'.repeat(1700)],
    ['content-type', `a/b${';'.repeat(8200)}`],
    ['if-none-match', '"a",'.repeat(2100)],
    ['user-agent', 'x'.repeat(8193)],
    ['audit-id', 'x'.repeat(8193)],
    ['authorization', `Bearer ${'x'.repeat(32 * 1024)}`],
    ['impersonate-user', 'x'.repeat(8193)],
    ['impersonate-extra-a', 'x'.repeat(8193)],
  ])('refuses a header that is read and too long: %s', async (name, value) => {
    await using server = await httpServerUnderTest(echo);
    const answer = await server[get]('/version', { headers: { [name]: value } });
    expect([answer.status, answer.body.toString()]).toEqual([431, '431 Request Header Fields Too Large']);
    expect((await server[get]('/version')).status).toBe(200);
  });

  it('lets no handler see a long header that nobody reads', async () => {
    await using server = await httpServerUnderTest(echo);
    const answer = await server[get]('/version', { headers: { 'x-long': 'a'.repeat(9000), 'x-short': 'a' } });
    const { headers } = JSON.parse(answer.body.toString());
    expect(headers).toContain('x-short');
    expect(headers).not.toContain('x-long');
  });

  it('drops no header for being one of many', async () => {
    await using server = await httpServerUnderTest(echo);
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'a']));
    const last = await server[get]('/version', { headers: { ...many(900), 'impersonate-user': 'alice' } });
    expect(JSON.parse(last.body.toString()).user.username).toBe('alice');
    const tooMany = server[get]('/version', { headers: { ...many(1100), 'impersonate-user': 'alice' } });
    if (get === 'get') expect((await tooMany).status).toBe(431);
    else await expect(tooMany).rejects.toThrow(); // HTTP/2 has no answer for it but the end of the stream
  });

  it('refuses paths and queries beyond any use', async () => {
    await using server = await httpServerUnderTest(echo);
    const long = await server[get](`/${'a/'.repeat(10_000)}`);
    expect([long.status, long.body.toString()]).toEqual([414, '414 URI Too Long']);
    const many = await server[get](`/version?${'a&'.repeat(20_000)}`);
    expect([many.status, many.body.toString()]).toEqual([400, '400 Bad Request: too many query parameters']);
    const digits = '1'.repeat(60_000);
    const timeout = await server[get](`/version?timeout=${digits}`, { anonymous: true });
    expect([timeout.status, JSON.parse(timeout.body.toString()).message]).toEqual([
      400,
      `invalid timeout specified in the request URL - time: invalid duration "${digits}"`,
    ]);
  });
});
