/** A service is counted once, however often it is prepared because others were written meanwhile. */
import { expect, it } from 'vitest';
import { startHook } from '../../../../src/server/outbound/https-hook.testing.ts';
import { startTestServer } from '../../../../src/testing/index.ts';
import { eventually } from '../../../support/eventually.ts';

const HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const ROOT = '/api/v1/namespaces';
const service = (name: string) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } });

it('a service that was overtaken while it was admitted is charged once', async () => {
  await using server = await startTestServer({ countsQuotas: true });
  const { client } = server;
  await client.create(`${ROOT}/default/services`, service('other'));
  await client.create(ROOT, { metadata: { name: 'x' } });
  await client.create(`${ROOT}/x/resourcequotas`, { metadata: { name: 'few' }, spec: { hard: { services: '1' } } });
  await eventually(async () => {
    expect((await client.get(`${ROOT}/x/resourcequotas/few`)).status).toMatchObject({ used: { services: '0' } });
  });
  let calls = 0;
  await using hook = await startHook(async ({ body }) => {
    const { uid } = body.request as { uid: string };
    if (calls++ === 0)
      await client.patch(`${ROOT}/default/services/other`, { metadata: { labels: { changed: 'yes' } } });
    return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
  });
  await client.create(HOOKS, {
    metadata: { name: 'hook' },
    webhooks: [
      {
        name: 'a.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url: hook.url, caBundle: hook.caBundle },
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'x' } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services'] }],
      },
    ],
  });
  const made = await client.create(`${ROOT}/x/services`, service('a'));
  expect(calls).toBe(2);
  expect(made.metadata.name).toBe('a');
});
