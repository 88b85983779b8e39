/** The HTTP server as clients meet it: both protocols, its gates in order, its headers, its limits. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:https';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { notFound } from '../../../src/api/errors/status-error.ts';
import type { RequestContext } from '../../../src/server/request/request-context.ts';
import { httpServerUnderTest, TOKEN } from './http-server-under-test.ts';

const JSON_TYPE = 'application/json';
const echo = (context: RequestContext) => {
  const { method, path, requestInfo, user } = context;
  context.send(200, JSON_TYPE, Buffer.from(JSON.stringify({ method, path, requestInfo, user })));
};
const messageOf = (body: Buffer) => JSON.parse(body.toString()).message as string;

describe.each(['get', 'get2'] as const)('the HTTP server over %s', (get) => {
  it('answers with the headers every answer has', async () => {
    await using server = await httpServerUnderTest(echo);
    const { status, headers, body } = await server[get]('/api/v1/pods?x=1', { headers: { 'audit-id': 'mine' } });
    expect(status).toBe(200);
    expect(JSON.parse(body.toString()).requestInfo).toMatchObject({ resource: 'pods', verb: 'list' });
    expect(headers).toMatchObject({
      'audit-id': 'mine',
      'cache-control': 'no-cache, private',
      'content-type': JSON_TYPE,
      'content-length': String(body.length),
      date: expect.any(String),
    });
    const other = await server[get]('/version');
    expect(other.headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('asks who comes, and says no as kube-apiserver does', async () => {
    await using server = await httpServerUnderTest(echo);
    const bad = await server[get]('/healthz', { anonymous: true, headers: { authorization: 'Bearer bogus' } });
    expect(bad.status).toBe(401);
    expect(JSON.parse(bad.body.toString())).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Unauthorized',
      reason: 'Unauthorized',
      code: 401,
    });
    const nobody = await server[get]('/api/v1/namespaces/x/configmaps?watch=1', { anonymous: true });
    expect(nobody.status).toBe(403);
    expect(messageOf(nobody.body)).toBe(
      'configmaps is forbidden: User "system:anonymous" cannot watch resource "configmaps" in API group "" in the namespace "x"',
    );
    const path = await server[get]('/nothing', { anonymous: true, headers: { authorization: 'Basic dTpw' } });
    expect(messageOf(path.body)).toBe('forbidden: User "system:anonymous" cannot get path "/nothing"');
    expect((await server[get]('/version', { anonymous: true })).status).toBe(200);
  });

  it('lets an administrator act as somebody else', async () => {
    await using server = await httpServerUnderTest(echo);
    const groups = { 'Impersonate-Group': ['one', 'two, three'] };
    const alice = { 'Impersonate-User': 'alice', 'Impersonate-Uid': 'u-1', 'Impersonate-Extra-Scopes': 'x', ...groups };
    const answer = await server[get]('/api/v1/namespaces/x', { headers: alice });
    expect(messageOf(answer.body)).toBe(
      'namespaces "x" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "x"',
    );
    const version = await server[get]('/version', { headers: alice });
    expect(JSON.parse(version.body.toString()).user).toEqual({
      username: 'alice',
      uid: 'u-1',
      groups: ['one', 'two, three', 'system:authenticated'],
      extra: { scopes: ['x'] },
    });
    const nested = await server[get]('/version', { anonymous: true, headers: { 'Impersonate-User': 'bob' } });
    expect(messageOf(nested.body)).toBe(
      'users "bob" is forbidden: User "system:anonymous" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });

  it('turns what handlers throw into a Status, and keeps serving', async () => {
    await using server = await httpServerUnderTest(async (context) => {
      if (context.path === '/known') throw notFound({ group: '', plural: 'pods' }, 'a');
      if (context.path === '/silent') return;
      throw new TypeError('a <bug>');
    });
    const known = await server[get]('/known');
    expect([known.status, messageOf(known.body)]).toEqual([404, 'pods "a" not found']);
    const bug = await server[get]('/bug');
    expect([bug.status, messageOf(bug.body)]).toEqual([500, 'a <bug>']);
    expect(bug.body.toString()).toContain('\\u003cbug\\u003e');
    expect((await server[get]('/silent')).status).toBe(500);
    expect(server.logged).toEqual([
      expect.stringContaining('GET /bug: TypeError'),
      expect.stringContaining('no handler answered GET /silent'),
    ]);
  });

  it('reads bodies up to the limit and refuses longer ones with 413', async () => {
    await using server = await httpServerUnderTest(async (context) => {
      const body = await context.readBody();
      context.send(200, 'text/plain', Buffer.from(`${body.length}`));
    });
    const limit = 3 * 1024 * 1024;
    const whole = await server[get]('/x', { method: 'POST', body: Buffer.alloc(limit, 'a') });
    expect(whole.body.toString()).toBe(`${limit}`);
    expect((await server[get]('/x', { method: 'POST' })).body.toString()).toBe('0');
    const over = await server[get]('/x', { method: 'POST', body: Buffer.alloc(limit + 1, 'a') });
    expect([over.status, messageOf(over.body)]).toEqual([413, `Request entity too large: limit is ${limit}`]);
    const announced = { 'content-length': String(limit + 5) };
    const early = await server[get]('/x', { method: 'POST', body: Buffer.alloc(limit + 5), headers: announced });
    expect(early.status).toBe(413);
    expect((await server[get]('/x', { method: 'POST', body: 'abc' })).body.toString()).toBe('3');
  });

  it('compresses what is large, for those who ask with the exact token', async () => {
    const large = Buffer.from('{"a":1}'.repeat(40_000));
    const parts = Array.from({ length: 40_000 }, () => Buffer.from('{"a":1}'));
    await using server = await httpServerUnderTest((context) =>
      context.path === '/parts'
        ? context.sendParts(200, JSON_TYPE, parts, large.length)
        : context.send(200, JSON_TYPE, context.path === '/small' ? large.subarray(0, 128 * 1024) : large),
    );
    for (const path of ['/whole', '/parts']) {
      const packed = await server[get](path, { headers: { 'accept-encoding': 'deflate, gzip' } });
      expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
      expect(gunzipSync(packed.body).equals(large)).toBe(true);
      const plain = await server[get](path, { headers: { 'accept-encoding': 'gzip;q=0.5' } });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(plain.headers['content-length']).toBe(String(large.length));
      expect(plain.body.equals(large)).toBe(true);
    }
    const small = await server[get]('/small', { headers: { 'accept-encoding': 'gzip' } });
    expect(small.headers['content-encoding']).toBeUndefined();
  });

  it('warns once per text', async () => {
    await using server = await httpServerUnderTest((context) => {
      context.warn('unknown field "spec.\\x"');
      context.warn('unknown field "spec.\\x"');
      context.warn('über\n');
      echo(context);
    });
    const { headers } = await server[get]('/version');
    const bytes = Buffer.from('über').toString('latin1');
    expect(headers.warning).toBe(`299 - "unknown field \\"spec.\\\\x\\"", 299 - "${bytes}"`);
  });

  it('gives no request more time than it has', async () => {
    await using server = await httpServerUnderTest((context) => {
      if (context.query.has('late')) return new Promise((_, no) => context.signal.addEventListener('abort', no));
      return echo(context);
    });
    const late = await server[get]('/version?late&timeout=20ms');
    expect([late.status, messageOf(late.body)]).toEqual([
      504,
      'Timeout: request did not complete within the allotted timeout',
    ]);
    const bad = await server[get]('/version?timeout=x');
    expect([bad.status, messageOf(bad.body)]).toEqual([
      400,
      'invalid timeout specified in the request URL - time: invalid duration "x"',
    ]);
    expect((await server[get]('/version?timeout=5s')).status).toBe(200);
  });

  it('sends requests away when all seats are taken, but never watches and health checks', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let waiting = 0;
    let allWaiting = () => {};
    const arrived = new Promise<void>((resolve) => {
      allWaiting = resolve;
    });
    const limits = { maxReadOnly: 2, maxMutating: 1 };
    await using server = await httpServerUnderTest(
      async (context) => {
        if (context.method === 'POST') await context.readBody(); // a seat is taken when it is there
        if (context.path === '/held') {
          if (++waiting === 3) allWaiting();
          await held;
        }
        if (context.query.has('watch')) context.stream(JSON_TYPE).end('timeout-over');
        else echo(context);
      },
      { limits },
    );
    const under = [server[get]('/held'), server[get]('/held'), server[get]('/held', { method: 'POST' })];
    await arrived;
    for (const method of ['GET', 'POST']) {
      const away = await server[get]('/version', { method });
      expect(away).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
      expect(away.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(away.body.toString()).toBe('Too many requests, please try again later.\n');
    }
    expect((await server[get]('/readyz')).status).toBe(200);
    expect((await server[get]('/api/v1/pods?watch=1')).status).toBe(200);
    release();
    for (const answer of await Promise.all(under)) expect(answer.status).toBe(200);
    expect((await server[get]('/version', { method: 'POST' })).status).toBe(200);
  });

  it('answers HEAD without a body', async () => {
    await using server = await httpServerUnderTest((context) =>
      context.path === '/parts' ? context.sendParts(200, 'text/plain', [Buffer.from('ok')], 2) : echo(context),
    );
    const whole = await server[get]('/healthz', { method: 'HEAD' });
    expect([whole.status, whole.body.length]).toEqual([200, 0]);
    const parts = await server[get]('/parts', { method: 'HEAD' });
    expect([parts.status, parts.headers['content-length'], parts.body.length]).toEqual([200, '2', 0]);
  });
});

it('knows a client by its certificate, also on a connection resumed without a new handshake', async () => {
  await using server = await httpServerUnderTest(echo);
  const { pki, httpServer } = server;
  const certificate = { ca: pki.authorityPem, cert: pki.admin.certPem, key: pki.admin.keyPem };
  const ask = (more: object) =>
    new Promise<string>((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: httpServer.port, path: '/api', agent: false, ...more },
        (response) => {
          let text = '';
          response.on('data', (part) => {
            text += part;
          });
          response.on('end', () => resolve(text));
        },
      );
      sent.on('error', reject).end();
    });
  const user = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };
  expect(JSON.parse(await ask(certificate)).user).toEqual(user);
  const sessions: Buffer[] = [];
  const sent = request({ host: '127.0.0.1', port: httpServer.port, path: '/api', agent: false, ...certificate });
  sent.on('socket', (socket) => socket.on('session', (session: Buffer) => sessions.push(session)));
  sent.end();
  const [response] = await once(sent, 'response');
  response.resume();
  await once(response, 'end');
  expect(JSON.parse(await ask({ ca: pki.authorityPem, session: sessions[0] })).user).toEqual(user);
  expect(JSON.parse(await ask({ ca: pki.authorityPem })).reason).toBe('Forbidden');
  const serving = { ca: pki.authorityPem, cert: pki.serving.certPem, key: pki.serving.keyPem };
  expect(JSON.parse(await ask(serving)).code).toBe(401); // signed by us, but not for clients
});

it('serves curl over both protocols', async ({ skip }) => {
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('curl', ['-sk', '-H', `Authorization: Bearer ${TOKEN}`, ...args]);
    return stdout;
  };
  if ((await run('--version').catch(() => '')) === '') skip('no curl here');
  await using server = await httpServerUnderTest((context) => {
    if (!context.query.has('watch')) return echo(context);
    const stream = context.stream(JSON_TYPE);
    for (const n of [1, 2, 3]) stream.write(Buffer.from(`{"n":${n}}\n`));
    return stream.end('timeout-over');
  });
  for (const version of [['--http1.0', '--no-alpn'], ['--http1.1'], ['--http2']]) {
    const out = await run(...version, `https://127.0.0.1:${server.httpServer.port}/api/v1/pods?watch=1`);
    expect([version, out]).toEqual([version, '{"n":1}\n{"n":2}\n{"n":3}\n']);
  }
});
