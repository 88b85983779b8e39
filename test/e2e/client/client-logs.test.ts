/** Log lines of a client: what each level tells, and that none of them ever tells a secret. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { Informer, Transport } from '../../../src/client/advanced.ts';
import { KubeClient, KubeConfig, type Logger, mergePatch } from '../../../src/client/index.ts';
import { configMaps, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { answer, scriptedServer } from '../../support/client/client-scripted-server.ts';
import { accessOf, adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { startTcpProxyTo } from '../../support/tcp-proxy.ts';

class Lines implements Logger {
  readonly lines: { level: number; message: string; fields: object }[] = [];
  level: number;
  constructor(level: number) {
    this.level = level;
  }

  readonly log = (level: number, message: string, fields: object): void => {
    this.lines.push({ level, message, fields });
  };

  at(level: number): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message.replace(/\d+ ms/, 'N ms'));
  }

  get text(): string {
    return JSON.stringify(this.lines);
  }
}

const reflector = { backoff: { minMs: 1, maxMs: 20 } };
const HIDDEN = 'do-not-show-this';
const hidden = [HIDDEN, Buffer.from(HIDDEN).toString('base64')];

it('at the highest level everything is told but tokens and the contents of Secrets', async () => {
  await using server = await startTestServer();
  const logger = new Lines(10);
  await using client = await adminOf(server, { logger });
  const all = client.resource(secrets);
  await all.create({ metadata: { name: 'a' }, stringData: { password: HIDDEN } });
  await all.list({ limit: 10 });
  await all.list({ allNamespaces: true, labelSelector: 'a!=b' });
  await all.get('a');
  await all.patch('a', mergePatch({ stringData: { password: `${HIDDEN}-2` } }));
  await expect(all.create({ metadata: { name: 'a' }, stringData: { password: HIDDEN } })).rejects.toThrow('already');
  await using informer = new Informer(client, secrets, { reflector });
  await informer.synced();
  await client.transport
    .request('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [HIDDEN] } },
    })
    .catch(() => {}); // whether there is such a thing does not matter
  await client.resource(configMaps).create({ metadata: { name: 'open' }, data: { text: 'for everybody' } });

  const token = readFileSync(join(server.dataDir, 'admin.token'), 'utf8').trim();
  const { text } = logger;
  for (const secret of [...hidden, token]) expect(text).not.toContain(secret);
  expect(text).toContain('for everybody'); // so bodies are told
  expect(text).toContain('authorization');
  expect(logger.at(9).some((line) => line.includes('/secrets?limit=10 response body'))).toBe(true);
});

it('whatever carries credentials is masked, and an error about a Secret does not quote it', async () => {
  await using server = await scriptedServer();
  const logger = new Lines(10);
  const authorization = `Bearer ${HIDDEN}`;
  const credentials = { current: async () => ({ authorization }), refused: () => false };
  await using transport = new Transport({ server: server.url, namespace: 'default', credentials }, { logger });
  const headers = { 'x-api-key': HIDDEN, 'X-Auth-Token': HIDDEN, 'x-forwarded': `Basic ${HIDDEN}`, 'x-open': 'open' };
  const asked = transport.request('GET', '/api/v1/namespaces/default/pods', { headers });
  answer(await server.next(), 200, {}, { 'set-cookie': HIDDEN });
  await asked;
  for (const path of [
    '/api/v1/secrets?limit=1',
    '/api/v1/namespaces/x/%73ecrets',
    '/api/v1/namespaces/x/pods/p/proxy/a',
  ]) {
    const broken = transport.request('GET', path);
    const { response } = await server.next();
    response.writeHead(200, { 'content-type': 'application/json' }).end(HIDDEN);
    await expect(broken).rejects.toMatchObject({ phase: 'body' });
  }
  await using informer = new Informer({ transport }, secrets, { reflector, onError: () => {} });
  const { response } = await server.next();
  response.writeHead(200, { 'content-type': 'application/json' }).end(`${HIDDEN}\n`);
  await until(() => informer.metrics.failures > 0);
  expect(logger.text).not.toContain(HIDDEN);
  expect(logger.text).not.toContain(HIDDEN.slice(0, 8)); // parsers quote the beginning
  expect(logger.text).toContain('x-open');
  expect(logger.at(6).filter((line) => line.includes('failed'))).toHaveLength(3);
});

it('level 2 tells states of informers, 4 what begins anew, 0 what somebody has to mend', async () => {
  await using server = await startTestServer();
  await using proxy = await startTcpProxyTo(server);
  const logger = new Lines(4);
  await using client = await adminThrough(server, proxy.port, { logger });
  {
    await using informer = new Informer(client, configMaps, { reflector });
    await informer.synced();
    proxy.cut();
    await until(() => informer.freshness.state !== 'current');
    await until(() => informer.freshness.state === 'current');
  }
  expect(logger.at(2)).toEqual([
    'configmaps: the informer is syncing',
    'configmaps: the informer is current',
    expect.stringMatching(/^configmaps: the informer is interrupted: /),
    'configmaps: the informer is current',
    'configmaps: the informer is stopped',
  ]);
  expect(logger.at(4)).toEqual([
    expect.stringMatching(/^configmaps: \d+ objects came by stream in N ms$/),
    expect.stringMatching(/^configmaps: the watch ended after N ms: /),
    'configmaps: the watch is open again',
  ]);
  expect(logger.lines.filter(({ level }) => level > 4)).toEqual([]);

  const access = await accessOf(server);
  const nobody = { ...access, credentials: { current: async () => ({}), refused: () => false } };
  const quiet = new Lines(0);
  await using stranger = new KubeClient(nobody, { logger: quiet });
  await using refused = new Informer(stranger, configMaps, { reflector, onError: () => {} });
  await expect(refused.synced()).rejects.toMatchObject({ name: 'ApiError' });
  expect(quiet.at(0)).toEqual([expect.stringMatching(/^configmaps: the informer is refused: /)]);
  expect(quiet.lines).toHaveLength(1);
});

it('level 6 tells of every watch that it opens and why it ends', async () => {
  await using server = await startTestServer();
  const logger = new Lines(6);
  await using client = await adminOf(server, { logger });
  const of = { namespace: 'default', resourceVersion: '0' };
  for await (const _event of client.watch(configMaps, { ...of, timeoutSeconds: 1 })); // the server ends it
  const stop = new AbortController();
  const onOpen = () => stop.abort();
  await expect(client.watch(configMaps, { ...of, onOpen, signal: stop.signal }).next()).rejects.toThrow();
  expect(logger.at(6).filter((line) => line.includes('watch') && !line.startsWith('GET'))).toEqual([
    'configmaps: a watch is open',
    'configmaps: the watch ended after N ms: the server ended it',
    'configmaps: a watch is open',
    'configmaps: the watch ended after N ms: nobody here reads it any more',
  ]);
});

it('the level may change while the client runs, and a logger that throws loses its line only', async () => {
  await using server = await startTestServer();
  const logger = new Lines(5);
  await using client = await adminOf(server, { logger });
  const namespaces = () => client.transport.request('GET', '/api/v1/namespaces');
  await namespaces();
  expect(logger.lines).toEqual([]);
  logger.level = 6;
  await namespaces();
  expect(logger.lines).toHaveLength(1);
  expect(logger.lines[0]).toMatchObject({
    level: 6,
    message: expect.stringMatching(/^GET \/api\/v1\/namespaces 200 in \d+ ms$/),
    fields: { request: 'GET /api/v1/namespaces', code: 200 },
  });
  logger.lines.push = () => {
    throw new Error('disk full');
  };
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
  await namespaces();
  expect((await warned).message).toMatch(/^Cannot ask "logger\.log" of the client.*disk full/);
});

it('an error about a broken kubeconfig says where, and does not quote the credentials beside the mistake', async () => {
  const text = `users:\n- name: a\n  user:\n    token: ${HIDDEN}\n   mistake: x\n`;
  const error = await KubeConfig.fromText(text, 'my-config').catch((err: unknown) => err);
  expect(inspect(error)).not.toContain(HIDDEN);
  expect(String(error)).toBe(
    'ConfigError: Cannot read kubeconfig "my-config": bad indentation of a mapping entry at line 5, column 4',
  );
});
