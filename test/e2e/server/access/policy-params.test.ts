/**
 * Parameters of admission policies, and the right to read them: a policy can show anything of them in its messages, so who
 * writes policies or bindings without being allowed to read what these refer to is refused.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';
import { until } from '../../../support/client/client-under-test.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ALICE = { 'impersonate-user': 'alice', 'impersonate-group': 'makers' };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await allow('policies', { apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] });
  await until(async () => (await ask('GET', `${GROUP}/validatingadmissionpolicies`)).status === 200);
});
afterAll(() => server[Symbol.asyncDispose]());

async function allow(name: string, rule: JsonObject): Promise<void> {
  await server.client.create(`${RBAC}/clusterroles`, { metadata: { name }, rules: [rule] });
  await server.client.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'alice' }],
  });
}

/** As alice. */
async function ask(method: string, path: string, body?: JsonObject) {
  const headers = { ...ALICE, ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }) };
  const answer = await server.client.ask(method, path, { headers, ...(body && { body: JSON.stringify(body) }) });
  const { message } = JSON.parse(answer.body.toString()) as { message?: string };
  return { status: answer.status, message };
}

const matchConstraints = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
};
const what: Readonly<Record<string, JsonObject>> = {
  Validating: { validations: [{ expression: 'false', messageExpression: 'string(params)' }] },
  Mutating: {
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
  },
};
const more: Readonly<Record<string, JsonObject>> = { Validating: { validationActions: ['Deny'] }, Mutating: {} };

it.each(['Validating', 'Mutating'])(
  'a %sAdmissionPolicy has parameters only of a kind its writer can read',
  async (type) => {
    const policies = `${GROUP}/${type.toLowerCase()}admissionpolicies`;
    const policy = (name: string, kind: string) => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: `${type}AdmissionPolicy`,
      metadata: { name },
      spec: { matchConstraints, paramKind: { apiVersion: 'v1', kind }, ...what[type] },
    });
    const resources = type === 'Validating' ? 'configmaps' : 'limitranges';
    const kind = type === 'Validating' ? 'ConfigMap' : 'LimitRange';
    const refusal = (of: string) => ({
      status: 422,
      message: `${type}AdmissionPolicy.admissionregistration.k8s.io "curious" is invalid: spec.paramKind: Forbidden: user &{alice  [makers system:authenticated] map[]} must have \\"get\\" permission on all objects of the referenced paramKind (kind=${of}, apiVersion=v1)`,
    });
    expect(await ask('POST', policies, policy('curious', 'Secret'))).toEqual(refusal('Secret'));
    expect(await ask('POST', policies, policy('curious', 'Nothing'))).toEqual(refusal('Nothing'));
    await allow(`read-${resources}`, { apiGroups: [''], resources: [resources], verbs: ['get'] });
    await until(async () => (await ask('POST', policies, policy('curious', kind))).status === 201);
    expect(await ask('PATCH', `${policies}/curious`, { spec: { paramKind: { kind: 'Secret' } } })).toEqual(
      refusal('Secret'),
    );
    expect(await ask('PATCH', `${policies}/curious`, { metadata: { labels: { a: 'b' } } })).toMatchObject({
      status: 200,
    });
    await server.client.create(policies, policy('others', 'Secret') as never);
    expect(await ask('PATCH', `${policies}/others`, { metadata: { labels: { a: 'b' } } })).toMatchObject({
      status: 200,
    });
  },
);

it.each<[type: string, who: string, verb: string]>([
  ['Validating', '&{alice  [makers system:authenticated] map[]}', 'get'],
  ['Mutating', 'get', '&{alice  [makers system:authenticated] map[]}'],
])('a %sAdmissionPolicyBinding refers only to what its writer can read', async (type, who, verb) => {
  const lower = type.toLowerCase();
  const bindings = `${GROUP}/${lower}admissionpolicybindings`;
  await server.client.create(`${GROUP}/${lower}admissionpolicies`, {
    metadata: { name: 'secrets' },
    spec: { matchConstraints, paramKind: { apiVersion: 'v1', kind: 'Secret' }, ...what[type] },
  });
  const binding = (name: string, policyName: string) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${type}AdmissionPolicyBinding`,
    metadata: { name: 'b' },
    spec: { policyName, paramRef: { name, namespace: 'default', parameterNotFoundAction: 'Deny' }, ...more[type] },
  });
  const refusal = {
    status: 422,
    message: `${type}AdmissionPolicyBinding.admissionregistration.k8s.io "b" is invalid: spec.paramRef: Forbidden: user ${who} does not have "${verb}" permission on the object referenced by paramRef`,
  };
  expect(await ask('POST', bindings, binding('closed', 'secrets'))).toEqual(refusal);
  expect(await ask('POST', bindings, binding(`open-${lower}`, 'nowhere'))).toEqual(refusal);
  await allow(lower, { apiGroups: [''], resources: ['secrets'], resourceNames: [`open-${lower}`], verbs: ['get'] });
  await until(async () => (await ask('POST', bindings, binding(`open-${lower}`, 'secrets'))).status === 201);
  expect(await ask('PATCH', `${bindings}/b`, { spec: { paramRef: { name: 'closed' } } })).toEqual(refusal);
});

it.each(['validatingwebhookconfigurations', 'validatingadmissionpolicies', 'mutatingadmissionpolicybindings'])(
  'a name among %s that is kept for files comes with a warning',
  async (plural) => {
    const metadata = { name: 'mine.static.k8s.io' };
    const spec = plural.endsWith('bindings')
      ? { policyName: 'p' }
      : { matchConstraints, validations: [{ expression: 'true' }] };
    const body = { metadata, ...(plural.endsWith('configurations') ? { webhooks: [] } : { spec }) };
    const { status, headers } = await server.client.ask('POST', `${GROUP}/${plural}`, {
      query: { dryRun: 'All' },
      body: JSON.stringify(body),
    });
    expect([status, headers.warning]).toEqual([
      201,
      '299 - "metadata.name: names ending with \\".static.k8s.io\\" are reserved for static manifest-based configurations and cannot be managed via the API"',
    ]);
  },
);
