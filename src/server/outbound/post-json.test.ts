import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { callTarget } from './call-target.ts';
import { type Hook, type HookAnswer, startHook } from './https-hook.testing.ts';
import { OutboundConnections } from './outbound-connections.ts';
import { postJson } from './post-json.ts';
import { startRawHook } from './raw-hook.testing.ts';
import { serviceResolver } from './service-resolver.ts';

const signal = new AbortController().signal;
const body = Buffer.from('{"a":1}');
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

function connections(services: Record<string, object> = {}): OutboundConnections {
  const made = new OutboundConnections(
    serviceResolver({
      service: async (namespace, name) =>
        services[`${namespace}/${name}`] &&
        ({ kind: 'Service', metadata: {}, spec: services[`${namespace}/${name}`] } as never),
      endpointSlices: async () => [],
    }),
  );
  open.push(() => made.close());
  return made;
}

async function hookWith(answer: HookAnswer, hosts: string[] = []): Promise<Hook> {
  const hook = await startHook(() => answer, { hosts });
  open.push(() => hook.close());
  return hook;
}

const ask = (made: OutboundConnections, config: Parameters<typeof callTarget>[0], more = {}) =>
  postJson(made, {
    target: callTarget(config),
    body,
    timeoutSeconds: 5,
    limitBytes: 1000,
    mayRepeat: true,
    signal,
    ...more,
  });

it('posts JSON and reads the answer, by connections that are kept', async () => {
  const hook = await hookWith({ ok: true });
  const made = connections();
  const config = { url: `${hook.url}/x`, caBundle: hook.caBundle };
  for (let i = 0; i < 10; i++) expect(await ask(made, config)).toEqual({ ok: true });
  const [first] = hook.requests;
  expect(first).toMatchObject({ method: 'POST', path: '/x?timeout=5s', body: { a: 1 } });
  expect(first!.headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json, */*' });
  expect(new Set(hook.requests.map(({ connection }) => connection)).size).toBeLessThan(3);
});

it.each<[what: string, answer: HookAnswer, text: string]>([
  [
    'an error of the server',
    { raw: 'broken', status: 500, type: 'text/plain' },
    'an error on the server ("broken") has prevented the request from succeeding',
  ],
  [
    'a page that is not there',
    { raw: 'x', status: 404, type: 'text/plain' },
    'the server could not find the requested resource',
  ],
  ['a Status', { raw: '{"kind":"Status","status":"Failure","message":"asleep"}', status: 503 }, 'asleep'],
  [
    'no JSON',
    { raw: 'zzz' },
    "couldn't get version/kind; json parse error: invalid character 'z' looking for beginning of value",
  ],
  [
    'no JSON and a failure',
    { raw: 'broken', status: 500 },
    'an error on the server ("unknown") has prevented the request from succeeding',
  ],
  ['another type', { raw: 'x', type: 'text/html' }, "serializer for text/html doesn't exist"],
  ['nothing', { raw: '' }, '0-length response with status code: 200 and content type: application/json'],
  [
    'a redirect',
    { raw: '', status: 302 },
    'the server responded with the status code 302 but did not return more information',
  ],
  ['too much', { raw: `"${'x'.repeat(2000)}"` }, 'the answer is longer than 1000 bytes'],
])('%s is told as kube-apiserver tells it', async (_what, answer, text) => {
  const hook = await hookWith(answer);
  await expect(ask(connections(), { url: hook.url, caBundle: hook.caBundle })).rejects.toMatchObject({
    name: 'CallError',
    message: text,
  });
});

it('whoever does not answer in time is not waited for; an abort is passed on as it is', async () => {
  const hook = await hookWith({});
  const made = connections();
  const config = { url: hook.url, caBundle: hook.caBundle };
  await ask(made, config);
  hook.answer = () => 'hang';
  const left = once(hook.requests[0]!.connection, 'close');
  await expect(ask(made, config, { timeoutSeconds: 0.05 })).rejects.toThrow(
    `Post "${hook.url}?timeout=0.05s": context deadline exceeded`,
  );
  await left;
  const stop = new AbortController();
  const asked = ask(made, config, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
});

it('whoever has gone before the first connection could be made is not asked for', async () => {
  const hook = await hookWith({});
  const stop = new AbortController();
  const asked = ask(connections(), { url: hook.url, caBundle: hook.caBundle }, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  expect(hook.requests).toEqual([]);
});

it.each<[what: string, answer: string, text: string]>([
  ['no HTTP', 'hello\r\n', 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "hello"'],
  ['less than it says', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}', 'EOF'],
  ['nothing', '', 'EOF'],
])('who answers %s is told of', async (_what, answer, text) => {
  const hook = await startRawHook(({ socket }) => socket.end(answer));
  open.push(() => hook.close());
  await expect(ask(connections(), { url: hook.url, caBundle: hook.caBundle })).rejects.toMatchObject({
    name: 'CallError',
    message: `Post "${hook.url}?timeout=5s": ${text}`,
  });
});

it('who answers as servers did before there was HTTP/1.1 is understood', async () => {
  const head = 'HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n';
  const hook = await startRawHook(({ socket }) => socket.end(`${head}{"ok":true}`));
  open.push(() => hook.close());
  expect(await ask(connections(), { url: hook.url, caBundle: hook.caBundle })).toEqual({ ok: true });
});

it('a path that would end the first line of a request is not sent', async () => {
  const hook = await hookWith({});
  const service = { namespace: 'n', name: 's', port: hook.port, path: '/ HTTP/1.1\r\nx: y' };
  await expect(ask(connections(), { service, caBundle: hook.caBundle })).rejects.toThrow('invalid request path');
  expect(hook.requests).toEqual([]);
});

it('whoever has gone is not asked for once more', async () => {
  const stop = new AbortController();
  const hook = await startRawHook(({ socket, before }) => {
    if (before === 0) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
    else {
      stop.abort(new Error('enough'));
      socket.end();
    }
  });
  open.push(() => hook.close());
  const made = connections();
  const config = { url: hook.url, caBundle: hook.caBundle };
  await ask(made, config);
  await expect(ask(made, config, { signal: stop.signal })).rejects.toThrow('enough');
  expect(hook.requests).toHaveLength(2);
});

it('nothing is asked of connections that are closed', async () => {
  const hook = await hookWith({ ok: true });
  const made = connections();
  const config = { url: hook.url, caBundle: hook.caBundle };
  await ask(made, config);
  await made.close();
  await expect(ask(made, config)).rejects.toThrow('the connections are closed');
  expect(hook.requests).toHaveLength(1);
});

it('nobody who is not vouched for gets a request', async () => {
  const [hook, other] = [await hookWith({}), await hookWith({})];
  const lead = `Post "${hook.url}?timeout=5s": tls: failed to verify certificate: x509: `;
  await expect(ask(connections(), { url: hook.url, caBundle: other.caBundle })).rejects.toThrow(
    `${lead}certificate signed by unknown authority`,
  );
  await expect(ask(connections(), { url: hook.url })).rejects.toThrow(`${lead}certificate signed by unknown authority`);
  expect(hook.requests).toEqual([]);
  expect(() => callTarget({ url: hook.url, caBundle: 'AAAA' })).toThrow('unable to parse bytes as PEM block');
});

it('nobody there, no TLS there', async () => {
  const hook = await hookWith({});
  await hook.close();
  await expect(ask(connections(), { url: `${hook.url}/x`, caBundle: hook.caBundle })).rejects.toThrow(
    `Post "${hook.url}/x?timeout=5s": dial tcp 127.0.0.1:${hook.port}: connect: connection refused`,
  );
  const plain = createServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => plain.close(resolve)));
  const { port } = plain.address() as AddressInfo;
  await expect(ask(connections(), { url: `https://127.0.0.1:${port}` })).rejects.toThrow(
    'http: server gave HTTP response to HTTPS client',
  );
});

it('a Service is found when a connection is made; its certificate must name it', async () => {
  const hook = await hookWith({ ok: true }, ['s.n.svc']);
  const external = { type: 'ExternalName', externalName: 'localhost' };
  const made = connections({ 'n/s': external, 'n/t': external });
  const service = (name: string) => ({
    service: { namespace: 'n', name, port: hook.port, path: '/p' },
    caBundle: hook.caBundle,
  });
  expect(await ask(made, service('s'))).toEqual({ ok: true });
  expect(hook.requests[0]).toMatchObject({ path: '/p?timeout=5s', headers: { host: `s.n.svc:${hook.port}` } });
  await expect(ask(made, service('t'))).rejects.toThrow(
    'x509: certificate is valid for localhost, s.n.svc, not t.n.svc',
  );
  await expect(ask(made, service('u'))).rejects.toThrow(
    `Post "https://u.n.svc:${hook.port}/p?timeout=5s": service "u" not found`,
  );
});

it.each<[what: string, spec: object, port: number, want: string | object]>([
  ['its cluster address', { clusterIP: '10.0.0.7', ports: [{ port: 443 }] }, 443, { host: '10.0.0.7', port: 443 }],
  [
    'a port it does not have',
    { clusterIP: '10.0.0.7', ports: [{ port: 443 }] },
    1,
    'no service port 1 found for service "s"',
  ],
  ['no address', { clusterIP: 'None', ports: [{ port: 443 }] }, 443, 'cannot route to service with ClusterIP "None"'],
  [
    'another name',
    { type: 'ExternalName', externalName: 'x.example.com' },
    8443,
    { host: 'x.example.com', port: 8443 },
  ],
])('a Service leads to %s', async (_what, spec, port, want) => {
  const resolve = serviceResolver({ service: async () => ({ spec }) as never, endpointSlices: async () => [] });
  if (typeof want === 'string') await expect(resolve('n', 's', port)).rejects.toThrow(want);
  else expect(await resolve('n', 's', port)).toEqual(want);
});

it('with routing to endpoints, one that is ready is taken', async () => {
  const slices = [
    {
      endpoints: [
        { addresses: ['10.1.0.1'], conditions: { ready: false } },
        { addresses: ['10.1.0.2'], conditions: { ready: true } },
      ],
      ports: [{ name: 'https', port: 8443 }],
    },
  ];
  const spec = { clusterIP: '10.0.0.7', ports: [{ name: 'https', port: 443 }] };
  const resolve = serviceResolver({
    service: async () => ({ spec }) as never,
    endpointSlices: async () => slices as never,
    routesToEndpoints: true,
  });
  expect(await resolve('n', 's', 443)).toEqual({ host: '10.1.0.2', port: 8443 });
});
