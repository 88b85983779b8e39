/** What a write to `status` takes of the rest of an object, by kind, and who owns what of it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';

const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';
const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const definition = (plural: string, kind: string) => ({
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
        subresources: { status: {} },
      },
    ],
  },
});

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.create(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    definition('widgets', 'Widget'),
  );
  await eventually(async () => expect((await server.client.ask('GET', WIDGETS)).status).toBe(200));
});
afterAll(() => server[Symbol.asyncDispose]());

async function patch(path: string, type: 'merge' | 'apply', manager: string, body: object) {
  const answer = await server.client.ask('PATCH', path, {
    query: { fieldManager: manager },
    headers: { 'content-type': type === 'merge' ? 'application/merge-patch+json' : 'application/apply-patch+yaml' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: JSON.parse(answer.body.toString()) };
}

type Entry = { manager: string; subresource?: string; fieldsV1: JsonObject };

function ownedBy(manager: string, { metadata }: { metadata: { managedFields?: Entry[] } }): JsonObject | undefined {
  return metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;
}

const meta = {
  labels: { a: 'x' },
  annotations: { b: 'x' },
  ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }],
};
const labelOwned = { 'f:labels': { '.': {}, 'f:a': {} } };
const notesOwned = { 'f:annotations': { '.': {}, 'f:b': {} } };
const ownersOwned = { 'f:ownerReferences': { '.': {}, 'k:{"uid":"u"}': {} } };
const allOwned = { 'f:metadata': { ...labelOwned, ...notesOwned, ...ownersOwned } };

it.each<[kind: string, collection: string, body: JsonObject, taken: string[], owned: JsonObject | undefined]>([
  [
    'a Service',
    '/api/v1/namespaces/default/services',
    { spec: { ports: [{ port: 80 }] } },
    ['labels', 'annotations', 'ownerReferences'],
    allOwned,
  ],
  [
    'a Pod',
    '/api/v1/namespaces/default/pods',
    { spec: template.spec },
    ['labels', 'annotations'],
    { 'f:metadata': { ...labelOwned, ...notesOwned } },
  ],
  [
    'a Deployment',
    '/apis/apps/v1/namespaces/default/deployments',
    { spec: { selector: { matchLabels: labels }, template } },
    ['annotations', 'ownerReferences'],
    { 'f:metadata': { ...notesOwned, ...ownersOwned } },
  ],
  [
    'a FlowSchema',
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    { spec: { priorityLevelConfiguration: { name: 'exempt' } } },
    [],
    undefined,
  ],
  [
    'a VolumeAttachment',
    '/apis/storage.k8s.io/v1/volumeattachments',
    { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'v' } } },
    [],
    undefined,
  ],
  [
    'a ResourceClaim',
    '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims',
    { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } } },
    [],
    undefined,
  ],
  [
    'an APIService',
    '/apis/apiregistration.k8s.io/v1/apiservices',
    { spec: { group: 'g.example', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 } },
    [],
    undefined,
  ],
  [
    'a definition',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    definition('gadgets', 'Gadget'),
    ['labels', 'annotations', 'ownerReferences'],
    undefined,
  ],
  ['a custom object', WIDGETS, { apiVersion: 'example.com/v1', kind: 'Widget', spec: { size: 1 } }, [], allOwned],
])('a write to the status of %s takes of its metadata what its kind takes', async (...row) => {
  const [kind, collection, body, taken, owned] = row;
  const name = kind === 'an APIService' ? 'v1.g.example' : 'one';
  const made = await server.client.create(collection, { metadata: { name }, ...body });
  const path = `${collection}/${made.metadata.name}`;
  const { status, body: after } = await patch(`${path}/status`, 'merge', 'writer', { metadata: meta });
  expect(status).toBe(200);
  const kept = await server.client.get(path);
  for (const [field, value] of Object.entries(meta)) {
    expect(kept.metadata[field as 'labels'], field).toEqual(
      taken.includes(field) ? value : made.metadata[field as 'labels'],
    );
  }
  expect(ownedBy('writer', after)).toEqual(owned);
  expect(kept.metadata.generation).toBe(made.metadata.generation);
});

it.each<[kind: string, path: string, type: { apiVersion: string; kind: string }]>([
  ['a Deployment', '/apis/apps/v1/namespaces/default/deployments/two', { apiVersion: 'apps/v1', kind: 'Deployment' }],
  ['a custom object', `${WIDGETS}/two`, { apiVersion: 'example.com/v1', kind: 'Widget' }],
])('who applies a status of %s neither owns nor disputes the spec it sends along', async (_kind, path, type) => {
  const metadata = { name: 'two' };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  expect(await patch(path, 'apply', 'owner', { ...type, metadata, spec })).toMatchObject({ status: 201 });
  const status = { replicas: 2 };
  const applied = await patch(`${path}/status`, 'apply', 'counter', {
    ...type,
    metadata,
    spec: { ...spec, replicas: 5 },
    status,
  });
  expect(applied).toMatchObject({ status: 200, body: { spec: { replicas: 1 }, status } });
  expect(ownedBy('counter', applied.body)).toEqual({ 'f:status': { 'f:replicas': {} } });
  expect(ownedBy('owner', applied.body)).toMatchObject({ 'f:spec': { 'f:replicas': {} } });
});

it('an object applied with a status that is not taken is left as it is when applied again', async () => {
  const path = '/apis/apps/v1/namespaces/default/deployments/three';
  const body = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'three' },
    spec: { selector: { matchLabels: labels }, template },
    status: { replicas: 7 },
  };
  const first = await patch(path, 'apply', 'owner', body);
  expect(first).toMatchObject({ status: 201, body: { status: {} } });
  expect(ownedBy('owner', first.body)).not.toHaveProperty('f:status');
  expect(await patch(path, 'apply', 'owner', body)).toEqual({ status: 200, body: first.body });
});

it.each<[part: string, change: JsonObject, owned: JsonObject]>([
  [
    'ephemeralcontainers',
    { ephemeralContainers: [{ name: 'e', image: 'i' }] },
    { 'f:ephemeralContainers': { 'k:{"name":"e"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
  ],
  [
    'resize',
    { containers: [{ name: 'c', image: 'other', resources: { requests: { cpu: '2' } } }] },
    { 'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:resources': { 'f:requests': { 'f:cpu': {} } } } } },
  ],
])('who applies to the %s of a Pod changes and owns nothing but that', async (part, change, owned) => {
  const pods = '/api/v1/namespaces/default/pods';
  const container = { name: 'c', image: 'i', resources: { requests: { cpu: '1' } } };
  await server.client.create(pods, { metadata: { name: part }, spec: { containers: [container] } });
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: part, labels: { a: 'b' } }, spec: change };
  const answer = await server.client.ask('PATCH', `${pods}/${part}/${part}`, {
    query: { fieldManager: 'one', force: 'true' },
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  const pod = JSON.parse(answer.body.toString());
  expect(pod.metadata).not.toHaveProperty('labels');
  expect(pod.spec.containers).toMatchObject([{ image: 'i' }]);
  expect(ownedBy('one', pod)).toEqual({ 'f:spec': owned });
});
