/** Webhooks of an operator, called by a real server. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { installCrd } from '../../../src/client/crd.ts';
import { admissionregistrationv1, corev1, defineResourceOf, type KubeClient } from '../../../src/client/index.ts';
import { deny, unregisterWebhooks, WebhookServer, type WebhookServerOptions } from '../../../src/controller/index.ts';
import { renewed } from '../../../src/controller/webhooks/webhook-certificates.ts';
import { FakeClock, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';
import { gadgets, gadgetsV1beta1 } from '../../support/client/generated/gadgets.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

let server: TestServer;
let client: KubeClient;
let hooks: WebhookServer;
const errors: string[] = [];
const { configMaps, secrets } = corev1;
const { validatingWebhookConfigurations } = admissionregistrationv1;

beforeAll(async () => {
  server = await startTestServer();
  client = await adminOf(server);
});
afterEach(async () => {
  await unregisterWebhooks(client, 'test-hooks');
  await hooks?.close();
  errors.length = 0;
});
afterAll(async () => {
  await client?.close();
  await server?.[Symbol.asyncDispose]();
});

function makeHooks(options: Partial<WebhookServerOptions> = {}): WebhookServer {
  const onError = (error: unknown, about: string) => errors.push(`${about}: ${(error as Error).message}`);
  hooks = new WebhookServer({ name: 'test-hooks', client, port: 0, host: '127.0.0.1', onError, ...options });
  return hooks;
}

it('a mutating handler changes what is stored, a validating one refuses and warns, in typed words', async () => {
  makeHooks()
    .mutate(configMaps, ({ object, operation, user }) => {
      if (object.metadata.name === 'never') return deny('never', { code: 409, reason: 'Conflict' });
      const by = `${operation} by ${user.username}`;
      return { ...object, data: { ...object.data, by } };
    })
    .mutate(configMaps, ({ object }) => {
      object.metadata.annotations = { 'ex.io/seen': 'yes' }; // in its place, without returning it
    })
    .validate(configMaps, ({ object, oldObject, warn }) => {
      warn(`looked at ${object.metadata.name}`);
      return object.data?.size && object.data.size !== oldObject?.data?.size ? ['data.size: must stay'] : undefined;
    })
    .validate(configMaps, ({ object }) => (object.data?.keep ? 'it is to be kept' : undefined), {
      operations: ['DELETE'],
    });
  await hooks.start();
  const warnings: string[] = [];
  await using watched = await adminOf(server, { onWarning: (text) => void warnings.push(text) });
  const api = watched.resource(configMaps, 'default');
  const made = await api.create({ metadata: { name: 'a' }, data: { keep: 'yes' } });
  expect(made).toMatchObject({
    data: { by: 'CREATE by kubernetes-admin' },
    metadata: { annotations: { 'ex.io/seen': 'yes' } },
  });
  expect(warnings).toEqual(['looked at a']);
  const wrong = api.create({ metadata: { name: 'b' }, data: { size: '1' } });
  await expect(wrong).rejects.toMatchObject({
    code: 422,
    message: 'admission webhook "validate.configmaps.core" denied the request: data.size: must stay',
  });
  await expect(api.create({ metadata: { name: 'never' } })).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
  await expect(api.delete('a')).rejects.toThrow('it is to be kept');
});

it('a handler that throws is no answer: the failure policy counts, and its text stays here', async () => {
  const broken = () => {
    throw new Error('a secret reason');
  };
  makeHooks().validate(configMaps, broken, {
    matchConditions: [{ name: 'one', expression: 'object.metadata.name == "c"' }],
  });
  await hooks.start();
  const api = client.resource(configMaps, 'default');
  await expect(api.create({ metadata: { name: 'c' } })).rejects.toThrow(
    'failed calling webhook "validate.configmaps.core"',
  );
  await expect(api.create({ metadata: { name: 'c' } })).rejects.not.toThrow('secret');
  expect(errors[0]).toBe('/validate/core/v1/configmaps: a secret reason');
  await api.create({ metadata: { name: 'd' } });
});

it('a kind is read and written in either version', async () => {
  const file = new URL('../../support/client/gadgets-crd.yaml', import.meta.url);
  await installCrd(client, readFileSync(file, 'utf8'));
  makeHooks()
    .convert(gadgets, gadgetsV1beta1)
    .by({
      toHub: ({ data = {} }) => {
        if (data.mode === 'none') throw new Error('it has no mode');
        return { spec: { mode: 'Fast', ports: [{ number: Number(data.port) }] } };
      },
      fromHub: ({ spec }) => ({ data: { port: String(spec.ports[0]?.number) } }),
    });
  await hooks.start();
  const old = client.resource(gadgetsV1beta1, 'default');
  await until(async () =>
    old.create({ metadata: { name: 'a', labels: { a: 'b' } }, data: { port: '80' } }, { dryRun: true }).then(
      () => true,
      () => false, // the server has not heard of the converter yet
    ),
  );
  await old.create({ metadata: { name: 'a', labels: { a: 'b' } }, data: { port: '80' } });
  const found = await client.resource(gadgets, 'default').get('a');
  expect(found).toMatchObject({
    metadata: { labels: { a: 'b' } },
    spec: { mode: 'Fast', ports: [{ number: 80 }] },
  });
  expect((await old.get('a')).data).toEqual({ port: '80' });
  const failing = old.create({ metadata: { name: 'b' }, data: { mode: 'none' } });
  await expect(failing).rejects.toThrow(
    'Cannot convert Gadget "default/b" from tools.ex.io/v1beta1 to tools.ex.io/v1: it has no mode',
  );
});

it('a certificate is renewed while it serves, and replicas share it by a Secret', async () => {
  const clock = new FakeClock();
  let now = new Date(Date.now() - 61 * 24 * 3600 * 1000); // what is made then has 29 days left now
  const certificates = { kind: 'secret', name: 'hook-certificates', namespace: 'default' } as const;
  makeHooks({ certificates, clock, now: () => now }).validate(configMaps, () => 'no');
  await hooks.start();
  const shown = await serial(hooks);
  await using second = new WebhookServer({
    name: 'other',
    client,
    port: 0,
    host: '127.0.0.1',
    certificates,
    now: () => now,
  });
  await second.start();
  expect(await serial(second)).toBe(shown);
  now = new Date();
  await clock.advance(60_000);
  await until(async () => (await serial(hooks)) !== shown);
  const api = client.resource(configMaps, 'default');
  await expect(api.create({ metadata: { name: 'e' } })).rejects.toThrow('denied the request: no');
  const stored = await client.resource(secrets, 'default').get('hook-certificates');
  expect(Buffer.from(stored.data!['ca.crt']!, 'base64').toString()).toBe(hooks.authorityPem);
  const { items } = await client.resource(validatingWebhookConfigurations).list();
  expect(items[0]!.webhooks![0]!.clientConfig.caBundle).toBe(stored.data!['ca.crt']);
});

it('a certificate of another authority that could not be registered at once is registered and shown later', async () => {
  await using dir = await temporaryDir();
  const write = () => {
    const { certPem, keyPem, authorityPem } = renewed(undefined, ['127.0.0.1'], new Date());
    for (const [name, text] of [
      ['tls.crt', certPem],
      ['tls.key', keyPem],
      ['ca.crt', authorityPem],
    ] as const)
      writeFileSync(join(dir.path, name), text);
    return authorityPem;
  };
  write();
  let isAway = false;
  const sometimes = new Proxy(client, {
    get: (target, name) => {
      if (isAway) throw new Error('the API server is away');
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const clock = new FakeClock();
  makeHooks({ client: sometimes, certificates: { kind: 'files', dir: dir.path }, clock });
  await hooks.validate(configMaps, () => 'no').start();
  const shown = await serial(hooks);
  isAway = true;
  const authority = write();
  await until(() => clock.sleeping > 0);
  await clock.advance(60_000);
  await until(() => errors.length > 0);
  expect(await serial(hooks)).toBe(shown);
  isAway = false;
  await until(() => clock.sleeping > 0);
  await clock.advance(60_000);
  await until(() => hooks.authorityPem === authority);
  await until(async () => (await serial(hooks)) !== shown);
  const { items } = await client.resource(validatingWebhookConfigurations).list();
  expect(items[0]!.webhooks![0]!.clientConfig.caBundle).toBe(Buffer.from(authority).toString('base64'));
});

it('what is no review is refused, and nothing is added to a server that runs', async () => {
  makeHooks({ client: undefined }).validate(configMaps, () => undefined);
  await hooks.start();
  const post = (path: string, body: string) =>
    fetchTls(
      hooks,
      `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  const path = '/validate/core/v1/configmaps';
  expect(await post(path, '{"kind":"Pod"}')).toMatch(/^HTTP\/1.1 400 [\s\S]*no AdmissionReview/);
  expect(await post(path, '{')).toMatch(/^HTTP\/1.1 400 /);
  expect(await post(path, 'null')).toMatch(/^HTTP\/1.1 400 /);
  expect(await post('/elsewhere', '{}')).toMatch(/^HTTP\/1.1 404 /);
  expect(await post('/livez', '')).toMatch(/^HTTP\/1.1 200 /);
  expect(() => hooks.mutate(defineResourceOf(configMaps), () => undefined)).toThrow('it was started already');
});

/** By the serial number of what it shows to whom trusts its authority. */
async function serial(of: WebhookServer): Promise<string> {
  const socket = connectTls({ port: of.port, host: '127.0.0.1', ca: of.authorityPem, ALPNProtocols: ['http/1.1'] });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

async function fetchTls(of: WebhookServer, text: string): Promise<string> {
  const socket = connectTls({ port: of.port, host: '127.0.0.1', ca: of.authorityPem });
  socket.end(text);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}
