/** A service that others overtake while it is admitted: asked about anew only if they took what it was given, and counted once. */
import { expect, it } from 'vitest';
import { type Hook, startHook } from '../../../../src/server/outbound/https-hook.testing.ts';
import { startTestServer } from '../../../../src/testing/index.ts';
import { eventually } from '../../../support/eventually.ts';

const HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const ROOT = '/api/v1/namespaces';
const service = (name: string, clusterIP?: string) => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...(clusterIP && { clusterIP }) },
});
const ofServicesIn = (namespace: string, { url, caBundle }: Hook) => ({
  metadata: { name: 'hook' },
  webhooks: [
    {
      name: 'a.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { url, caBundle },
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services'] }],
    },
  ],
});

it.each([
  ['another address', 1],
  ['the same address', 2],
])('a service is admitted while another takes %s', async (what, times) => {
  await using server = await startTestServer({ countsQuotas: true });
  const { client } = server;
  await client.create(ROOT, { metadata: { name: 'x' } });
  await client.create(`${ROOT}/x/resourcequotas`, { metadata: { name: 'few' }, spec: { hard: { services: '1' } } });
  await eventually(async () => {
    expect((await client.get(`${ROOT}/x/resourcequotas/few`)).status).toMatchObject({ used: { services: '0' } });
  });
  const given: string[] = [];
  await using hook = await startHook(async ({ body }) => {
    const { uid, object } = body.request as { uid: string; object: { spec: { clusterIP: string } } };
    const address = object.spec.clusterIP;
    const taken = what === 'the same address' ? address : undefined;
    if (given.push(address) === 1) await client.create(`${ROOT}/default/services`, service('other', taken));
    return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
  });
  await client.create(HOOKS, ofServicesIn('x', hook));
  const made = await client.create(`${ROOT}/x/services`, service('a'));
  expect(given).toHaveLength(times);
  expect(made.spec).toMatchObject({ clusterIP: given.at(-1) });
  expect(new Set(given).size).toBe(times);
  expect((await client.get(`${ROOT}/x/resourcequotas/few`)).status).toMatchObject({ used: { services: '1' } });
});
