/** Who owns what of an autoscaler that some write in its older version and others in its newer one. */
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';

const at = (version: string, name = '') =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers${name && `/${name}`}`;
const scaler = (version: string, spec: JsonObject) => ({
  apiVersion: `autoscaling/${version}`,
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'a' },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }, maxReplicas: 5, ...spec },
});
const processor = (averageUtilization: number): JsonObject => ({
  metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }],
});

async function send({ client }: TestServer, type: string, version: string, manager: string, body: object) {
  const headers = { 'content-type': `application/${type}` };
  const { status, body: answer } = await client.ask('PATCH', at(version, 'a'), {
    headers,
    body,
    query: { fieldManager: manager },
  });
  return { status, object: JSON.parse(answer.toString()) as KubeObject & { message?: string } };
}

const ownedBy = (object: KubeObject, manager: string) =>
  JSON.stringify(object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1);

it('a write in the older version takes what it changes from who has it in the newer one', async () => {
  await using server = await startTestServer();
  const { client } = server;
  await client.ask('POST', at('v2'), { body: scaler('v2', processor(80)), query: { fieldManager: 'new' } });
  expect(ownedBy(await client.get(at('v2', 'a')), 'new')).toContain('"f:metrics"');
  const change = { spec: { targetCPUUtilizationPercentage: 50 } };
  const { object } = await send(server, 'merge-patch+json', 'v1', 'old', change);
  expect(ownedBy(object, 'old')).toBe('{"f:spec":{"f:targetCPUUtilizationPercentage":{}}}');
  expect(ownedBy(object, 'new')).not.toContain('"f:metrics"');
  expect(ownedBy(object, 'new')).toContain('"f:maxReplicas"');

  const back = await send(server, 'merge-patch+json', 'v2', 'newer', { spec: processor(70) });
  expect(ownedBy(back.object, 'newer')).toBe('{"f:spec":{"f:metrics":{}}}');
  expect(ownedBy(back.object, 'old')).toBeUndefined();
});

it('an apply in the older version conflicts with who has it in the newer one, by its name there', async () => {
  await using server = await startTestServer();
  await send(server, 'apply-patch+yaml', 'v2', 'new', scaler('v2', processor(80)));
  const old = scaler('v1', { targetCPUUtilizationPercentage: 50 });
  const { status, object } = await send(server, 'apply-patch+yaml', 'v1', 'old', old);
  expect(status).toBe(409);
  expect(object.message).toBe('Apply failed with 1 conflict: conflict with "new": .spec.metrics');
  const same = scaler('v1', { targetCPUUtilizationPercentage: 80 });
  expect((await send(server, 'apply-patch+yaml', 'v1', 'old', same)).status).toBe(200);
});
