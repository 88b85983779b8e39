/**
 * What people extend a cluster with, by a real kubectl: a webhook that changes objects and one that refuses them, a kind
 * in two versions with a webhook between them, and a group that another server answers for.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../src/api/index.ts';
import { type Hook, type HookRequest, startHook } from '../../../src/server/outbound/https-hook.testing.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Kubectl, kubectls } from './kubectl.ts';

const found = kubectls().slice(0, 1);
if (found.length === 0) it.skip('kubectl (skipped: there is none, and none could be fetched)', () => {});

type Review = { request: { uid: string; object: KubeObject; desiredAPIVersion: string; objects: KubeObject[] } };
const asked = ({ body }: HookRequest) => (body as unknown as Review).request;
const reviewed = (request: HookRequest, response: JsonObject): JsonObject => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: asked(request).uid, allowed: true, ...response },
});
const configuration = (kind: string, { url, caBundle }: Hook) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: `${kind}WebhookConfiguration`,
  metadata: { name: `${kind.toLowerCase()}.example.com` },
  webhooks: [
    {
      name: `${kind.toLowerCase()}.hooks.example.com`,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { url, caBundle },
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
    },
  ],
});

describe.each(found)('kubectl $version', ({ path }) => {
  let server: TestServer;
  let home: string;
  let kubectl: Kubectl;
  const hooks: Hook[] = [];
  const hookWith = async (answer: Hook['answer'], hosts: string[] = []) => {
    const hook = await startHook(answer, { hosts });
    hooks.push(hook);
    return hook;
  };

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    server = await startTestServer();
    kubectl = new Kubectl(path, server.kubeconfigPath, home);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const hook of hooks) await hook.close();
    rmSync(home, { recursive: true, force: true });
  });

  it('sees what a webhook adds, its warnings, and why another refuses', async () => {
    const patch = Buffer.from('[{"op":"add","path":"/metadata/labels","value":{"by":"hook"}}]').toString('base64');
    const mutating = await hookWith((request) =>
      reviewed(request, { patchType: 'JSONPatch', patch, warnings: ['labelled by a webhook'] }),
    );
    const validating = await hookWith((request) => {
      const { metadata } = asked(request).object;
      if (metadata.name !== 'bad') return reviewed(request, {});
      return reviewed(request, { allowed: false, status: { code: 403, message: `not with ${metadata.labels?.by}` } });
    });
    await kubectl.with(configuration('Mutating', mutating), 'create');
    await kubectl.with(configuration('Validating', validating), 'create');
    const good = await kubectl.try(['create', 'configmap', 'good', '--from-literal=k=v']);
    expect(good).toMatchObject({ code: 0, err: 'Warning: labelled by a webhook\n' });
    expect(await kubectl.run('get', 'configmap', 'good', '--show-labels', '--no-headers')).toMatch(/ by=hook\n$/);
    const bad = await kubectl.try(['create', 'configmap', 'bad']);
    expect(bad).toMatchObject({ code: 1, out: '' });
    expect(bad.err).toContain('admission webhook "validating.hooks.example.com" denied the request: not with hook');
    await mutating.close();
    const failed = await kubectl.try(['create', 'configmap', 'other']);
    expect(failed.err).toContain('failed calling webhook "mutating.hooks.example.com": failed to call webhook: Post');
    await kubectl.run('delete', 'mutatingwebhookconfiguration,validatingwebhookconfiguration', '--all');
    await kubectl.run('create', 'configmap', 'other');
  });

  it('gets and applies a kind in either of its versions', async () => {
    const hook = await hookWith((request) => {
      const { uid, desiredAPIVersion, objects } = asked(request);
      const field = desiredAPIVersion.endsWith('v2') ? 'knots' : 'speed';
      const convertedObjects = objects.map((object) => {
        const { speed, knots } = (object.spec ?? {}) as { speed?: string; knots?: string };
        return { ...object, apiVersion: desiredAPIVersion, spec: { [field]: speed ?? knots ?? '' } };
      });
      const response = { uid, result: { status: 'Success' }, convertedObjects };
      return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response } as unknown as JsonObject;
    });
    const version = (name: string, field: string) => ({
      name,
      served: true,
      storage: name === 'v1',
      additionalPrinterColumns: [{ name: field, type: 'string', jsonPath: `.spec.${field}` }],
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: { spec: { type: 'object', properties: { [field]: { type: 'string' } } } },
        },
      },
    });
    await kubectl.with(
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'ships.toys.example.com' },
        spec: {
          group: 'toys.example.com',
          scope: 'Namespaced',
          names: { plural: 'ships', singular: 'ship', kind: 'Ship' },
          versions: [version('v1', 'speed'), version('v2', 'knots')],
          conversion: {
            strategy: 'Webhook',
            webhook: {
              conversionReviewVersions: ['v1'],
              clientConfig: { url: `${hook.url}/convert`, caBundle: hook.caBundle },
            },
          },
        },
      },
      'create',
    );
    await kubectl.run('wait', '--for=condition=Established', 'crd/ships.toys.example.com');
    const ship = (at: string, spec: JsonObject) => ({
      apiVersion: `toys.example.com/${at}`,
      kind: 'Ship',
      metadata: { name: 'a' },
      spec,
    });
    await kubectl.with(ship('v1', { speed: '7' }), 'create');
    expect(await kubectl.run('get', 'ships.v2.toys.example.com')).toMatch(/^NAME +KNOTS\na +7\n$/);
    expect(await kubectl.with(ship('v2', { knots: '9' }), 'apply', '--server-side', '--force-conflicts')).toContain(
      'serverside-applied',
    );
    expect(await kubectl.run('get', 'ships.v1.toys.example.com')).toMatch(/^NAME +SPEED\na +9\n$/);
    expect(await kubectl.run('delete', 'ships.v2.toys.example.com', 'a')).toContain('deleted');
  });

  it('finds and asks a group that another server answers for', async () => {
    const resources = [{ name: 'winds', singularName: 'wind', namespaced: true, kind: 'Wind', verbs: ['get', 'list'] }];
    const group = 'weather.example.com';
    const wind = { kind: 'Wind', apiVersion: `${group}/v1`, metadata: { name: 'north', namespace: 'default' } };
    const hook = await hookWith(
      ({ path: at }) => {
        if (at === `/apis/${group}/v1`)
          return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1`, resources };
        if (at.includes('/winds')) return { kind: 'WindList', apiVersion: `${group}/v1`, metadata: {}, items: [wind] };
        return { raw: 'not here', status: 404, type: 'text/plain' };
      },
      ['weather.default.svc'],
    );
    await kubectl.run('create', 'service', 'externalname', 'weather', '--external-name=localhost');
    await kubectl.with(
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: `v1.${group}` },
        spec: {
          group,
          version: 'v1',
          groupPriorityMinimum: 100,
          versionPriority: 10,
          caBundle: hook.caBundle,
          service: { namespace: 'default', name: 'weather', port: hook.port },
        },
      },
      'create',
    );
    await kubectl.run('wait', '--for=condition=Available', `apiservice/v1.${group}`);
    expect(await kubectl.run('get', '--raw', `/apis/${group}/v1/namespaces/default/winds`)).toContain('"north"');
    expect(await kubectl.run('get', 'apiservices', `v1.${group}`, '--no-headers')).toMatch(/ default\/weather +True /);
    expect(await kubectl.run('get', 'winds', '-o', 'name')).toBe(`wind.${group}/north\n`);
  });
});
