/** Entries of managedFields in versions that their kind does not have any more, over a real server. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/api/index.ts';
import { eventually, startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GROUP = 'toys.example.com';
const at = (version: string, name = '') => `/apis/${GROUP}/${version}/namespaces/default/kites${name && `/${name}`}`;
const ofVersion = (name: string, stored: string, served = true) => ({
  name,
  served,
  storage: name === stored,
  schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
});
const definition = (versions: object[]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `kites.${GROUP}` },
  spec: { group: GROUP, scope: 'Namespaced', names: { plural: 'kites', kind: 'Kite' }, versions },
});

type Written = KubeObject & { readonly message?: string };

async function send({ client }: TestServer, method: string, path: string, type: string, body: object) {
  const [plain = '', search] = path.split('?');
  const query = Object.fromEntries(new URLSearchParams(search));
  const answer = await client.ask(method, plain, { headers: { 'content-type': type }, body, query });
  return { status: answer.status, body: JSON.parse(answer.body.toString()) as Written };
}

const owners = ({ metadata }: KubeObject) =>
  metadata.managedFields?.map(({ manager, apiVersion }) => `${manager} ${apiVersion}`);

it('of a built-in kind they go with the next write, also with one that changes nothing', async () => {
  await using server = await startTestServer();
  const path = '/api/v1/namespaces/default/configmaps';
  const fieldsV1 = { 'f:data': { 'f:k': {} } };
  const entry = (manager: string, apiVersion: string) => ({
    manager,
    operation: 'Update',
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1,
  });
  const managedFields = [entry('old', 'gone.example.com/v1'), entry('now', 'v1')];
  const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' }, data: { k: 'v' } };
  await send(server, 'POST', path, 'application/json', made);
  const given = { ...made, metadata: { ...made.metadata, managedFields } };
  const written = await send(server, 'PUT', `${path}/a`, 'application/json', given);
  expect(owners(written.body)).toEqual(['now v1']);
});

it('of a custom kind they stay as they are with any write but an apply, which is refused', async () => {
  await using server = await startTestServer();
  const { client } = server;
  await client.create(CRDS, definition([ofVersion('v1', 'v2'), ofVersion('v2', 'v2')]));
  await eventually(async () => expect((await client.list(at('v1'))).items).toEqual([]));
  const kite = (version: string) => ({ apiVersion: `${GROUP}/${version}`, kind: 'Kite', metadata: { name: 'a' } });
  await client.create(at('v1'), { ...kite('v1'), spec: { tail: 'long' } });
  const crd = `${CRDS}/kites.${GROUP}`;
  const merge = 'application/merge-patch+json';
  const change = { spec: { tail: 'short' } };

  // Not served any more, but still a version of the kind: its entries are worth what they were.
  const hidden = { spec: { versions: [ofVersion('v1', 'v2', false), ofVersion('v2', 'v2')] } };
  await send(server, 'PATCH', crd, merge, hidden);
  await eventually(async () => expect((await client.ask('GET', at('v1'))).status).toBe(404));
  const moved = await send(server, 'PATCH', `${at('v2', 'a')}?fieldManager=next`, merge, change);
  expect(owners(moved.body)).toContain(`next ${GROUP}/v2`);

  await send(server, 'PATCH', crd, merge, { spec: { versions: [ofVersion('v2', 'v2')] } });
  const apply = () =>
    send(server, 'PATCH', `${at('v2', 'a')}?fieldManager=mine&force=true`, 'application/apply-patch+yaml', {
      ...kite('v2'),
      spec: { tail: 'mine' },
    });
  const message = `request to convert CR to an invalid group/version: ${GROUP}/v1`;
  await eventually(async () => expect((await apply()).body).toMatchObject({ code: 500, message }));
  const before = await client.get(at('v2', 'a'));
  const kept = await send(server, 'PATCH', `${at('v2', 'a')}?fieldManager=other`, merge, { spec: { tail: 'none' } });
  expect(kept.body).toMatchObject({ spec: { tail: 'none' } });
  expect(kept.body.metadata.managedFields).toEqual(before.metadata.managedFields);

  // Who takes the entries away can apply again.
  await send(server, 'PATCH', at('v2', 'a'), merge, { metadata: { managedFields: [{}] } });
  expect((await apply()).status).toBe(200);
});
