/**
 * The executables of `longwatch envtest-assets`, used as envtest uses the real ones: flags, files, checks and signals as
 * controller-runtime sends them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { verify, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/api/index.ts';
import { admissionregistrationv1, apiextensionsv1, corev1, defineResource } from '../../../src/client/index.ts';
import { startHook } from '../../../src/server/outbound/https-hook.testing.ts';
import { eventually } from '../../support/eventually.ts';
import { EnvtestPair } from './envtest-pair.ts';
import { COMMAND } from './serve-command.ts';

const AT_ONCE = 10;

let assets: string;
beforeAll(() => {
  assets = mkdtempSync(join(tmpdir(), 'longwatch-assets-'));
  execFileSync(process.execPath, [COMMAND, 'envtest-assets', assets]);
});
afterAll(() => rmSync(assets, { recursive: true, force: true }));

it('a suite runs on the pair: client certificates, CRDs, webhooks by URL, tokens, and a restart', async () => {
  await using pair = new EnvtestPair(assets);
  await pair.start(['--feature-gates=OrderedNamespaceDeletion=true', '-v', '0']);
  expect(pair.said).toContain('--feature-gates=OrderedNamespaceDeletion=true is not known here and changes nothing');
  const { client } = pair;

  await client.resource(apiextensionsv1.customResourceDefinitions).create(boatDefinition);
  await eventually(async () => {
    const { body } = await client.transport.request<{ resources: { name: string }[] }>(
      'GET',
      '/apis/sea.example.com/v1',
    );
    expect(body.resources.map(({ name }) => name)).toContain('boats');
  });
  await client.resource(boats).create({ metadata: { name: 'dory' }, spec: {} });

  await using hook = await startHook(({ body }) => {
    const { uid } = body.request as JsonObject;
    const response = { uid: uid!, allowed: false, status: { code: 403, message: 'no more boats' } };
    return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
  });
  const { url, caBundle } = hook;
  await client.resource(admissionregistrationv1.validatingWebhookConfigurations).create({
    metadata: { name: 'boats' },
    webhooks: [
      {
        name: 'boats.sea.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url, caBundle },
        rules: [{ operations: ['CREATE'], apiGroups: ['sea.example.com'], apiVersions: ['v1'], resources: ['boats'] }],
      },
    ],
  });
  const refused = client.resource(boats).create({ metadata: { name: 'skiff' }, spec: {} });
  await expect(refused).rejects.toThrow('denied the request: no more boats');

  await client.resource(corev1.serviceAccounts).create({ metadata: { name: 'crew' } });
  const path = '/api/v1/namespaces/default/serviceaccounts/crew/token';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const answer = await client.transport.request<{ status: { token: string } }>('POST', path, { body });
  expect(isSignedBy(answer.body.status.token, join(pair.folder, 'sa-signer.crt'))).toBe(true);

  expect(await pair.stopApiServer()).toBe(0);
  await pair.startApiServer();
  expect(await pair.client.resource(boats).get('dory')).toMatchObject({ metadata: { name: 'dory' } });
  expect(await pair.stop()).toEqual([0, 0]);
});

it(`${AT_ONCE} pairs at once start, each with data of its own, and stop`, async () => {
  const pairs = Array.from({ length: AT_ONCE }, () => new EnvtestPair(assets));
  try {
    await Promise.all(
      pairs.map(async (pair, n) => {
        await pair.start();
        await pair.client.resource(corev1.configMaps).create({ metadata: { name: `of-${n}` } });
        const { items } = await pair.client.resource(corev1.configMaps).list();
        expect(items.map(({ metadata }) => metadata.name)).toEqual([`of-${n}`]);
      }),
    );
    expect(await Promise.all(pairs.map((pair) => pair.stop()))).toEqual(pairs.map(() => [0, 0]));
  } finally {
    for (const pair of pairs) await pair[Symbol.asyncDispose]();
  }
}, 60_000);

it('compiled code lies beside them, made for this server; one that is damaged or gone costs time only', async () => {
  const code = join(assets, '.kube-apiserver-code');
  const whole = readFileSync(code);
  const server = /'([^']*envtest-server-\w+\.cjs)'/.exec(readFileSync(join(assets, 'kube-apiserver'), 'utf8'))?.[1];
  expect(isTaken(server!, whole.subarray(0, -32))).toBe(true); // without its sum
  try {
    const damaged = Buffer.from(whole);
    damaged[1_500_000]! ^= 0x55; // V8 itself would not notice, and crash
    writeFileSync(code, damaged);
    await using pair = new EnvtestPair(assets);
    await pair.start();
    rmSync(code);
    await pair.stopApiServer();
    await pair.startApiServer();
    expect(await pair.stop()).toEqual([0, 0]);
  } finally {
    writeFileSync(code, whole);
  }
});

it('kubectl is the one of the PATH, and a file of somebody else is not written over', () => {
  const kubectl = spawnSync(join(assets, 'kubectl'), ['version', '--client'], { encoding: 'utf8' });
  if (kubectl.status !== 0) expect(kubectl.stderr).toContain('none was on the PATH');
  const folder = join(assets, 'real');
  const write = () => spawnSync(process.execPath, [COMMAND, 'envtest-assets', folder], { encoding: 'utf8', env: {} });
  expect(write()).toMatchObject({ status: 0, stdout: `KUBEBUILDER_ASSETS=${folder}\n` });
  writeFileSync(join(folder, 'etcd'), 'a real one');
  const { status, stderr } = write();
  expect(status).toBe(1);
  expect(stderr).toContain(`Cannot write "${join(folder, 'etcd')}": a file is there that is not of this verb`);
  expect(readFileSync(join(folder, 'etcd'), 'utf8')).toBe('a real one');
});

const boats = defineResource<object>({
  group: 'sea.example.com',
  version: 'v1',
  kind: 'Boat',
  plural: 'boats',
  isNamespaced: true,
});

const boatDefinition = {
  metadata: { name: 'boats.sea.example.com' },
  spec: {
    group: 'sea.example.com',
    scope: 'Namespaced' as const,
    names: { kind: 'Boat', plural: 'boats' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

/** Whether V8 would use it for that program. */
function isTaken(program: string, cachedData: Buffer): boolean {
  return new Script(readFileSync(program, 'latin1'), { cachedData }).cachedDataRejected === false;
}

function isSignedBy(token: string, certificate: string): boolean {
  const [head = '', payload = '', signature = ''] = token.split('.');
  const { publicKey } = new X509Certificate(readFileSync(certificate));
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const };
  return verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url'));
}
