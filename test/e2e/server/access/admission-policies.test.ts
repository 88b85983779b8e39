/**
 * Policies over the wire, with a real store: in effect from the first write after a restart, on every kind of server, for
 * all kinds of writes, and through all versions of a custom kind.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/api/index.ts';
import { type ApiClient, startTestServer } from '../../../../src/testing/index.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

const rule = (resources: string[], apiGroups = [''], apiVersions = ['v1']) => ({
  resourceRules: [{ apiGroups, apiVersions, operations: ['*'], resources }],
});

async function install(client: ApiClient, name: string, spec: JsonObject, binding: JsonObject = {}): Promise<void> {
  const kind = spec.mutations ? 'mutating' : 'validating';
  await client.create(`${GROUP}/${kind}admissionpolicies`, { metadata: { name }, spec });
  const actions = spec.mutations ? {} : { validationActions: ['Deny'] };
  await client.create(`${GROUP}/${kind}admissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, ...actions, ...binding },
  });
}

/** What an attempt is answered, once it is refused. */
async function refusal(client: ApiClient, method: string, path: string, body?: object, type = 'application/json') {
  for (;;) {
    const asked = { headers: { 'content-type': type }, ...(body && { body }) };
    const answer = await client.ask(method, path, asked);
    if (answer.status >= 400) return (JSON.parse(answer.body.toString()) as { message: string }).message;
  }
}

const onlyMessage = (message: string) => message.replace(/^.*denied request: /s, '');

it('policies are in effect from the first write on after a restart', async () => {
  await using server = await startTestServer();
  await install(server.client, 'p', {
    matchConstraints: rule(['configmaps']),
    validations: [{ expression: 'false', message: 'never' }],
  });
  for (let round = 0; round < 3; round++) {
    await server.stop();
    await server.start();
    const { status } = await server.client.ask('POST', CONFIG_MAPS, { body: { metadata: { name: `a${round}` } } });
    expect(status).toBe(422);
  }
}, 60_000);

it('without a watch cache too', async () => {
  await using server = await startTestServer({ watchCache: false });
  const spec = { matchConstraints: rule(['configmaps']), validations: [{ expression: 'false', message: 'never' }] };
  await install(server.client, 'p', spec);
  const body = { metadata: { name: 'a' } };
  expect(await refusal(server.client, 'POST', `${CONFIG_MAPS}?dryRun=All`, body)).toContain('denied request: never');
});

it('a binding is judged as what its path says', async () => {
  await using server = await startTestServer();
  const { client } = server;
  await install(client, 'p', {
    matchConstraints: rule(['bindings', 'pods/binding']),
    validations: [
      {
        expression: 'false',
        messageExpression:
          'request.resource.resource + " in " + object.metadata.namespace + (has(request.subResource) ? " by part" : "")',
      },
    ],
  });
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } };
  const told = async (path: string) =>
    onlyMessage(await refusal(client, 'POST', `/api/v1/namespaces/default/${path}`, binding));
  await client.create('/api/v1/namespaces/default/pods', {
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  expect(await told('bindings?dryRun=All')).toBe('bindings in default');
  expect(await told('pods/a/binding?dryRun=All')).toBe('pods in default by part');
});

it('every kind of write is judged as what it is', async () => {
  await using server = await startTestServer();
  const { client } = server;
  await client.create(CONFIG_MAPS, { metadata: { name: 'a', labels: { x: 'y' } } });
  await client.create('/apis/apps/v1/namespaces/default/deployments', {
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  const parts = [
    'request.operation',
    'request.kind.kind',
    'request.resource.resource',
    '(has(request.subResource) ? request.subResource : "-")',
    '(has(request.name) ? request.name : "-")',
    '(has(request.namespace) ? request.namespace : "-")',
    'string(request.options.kind)',
    '(object == null ? "-" : object.kind)',
    '(oldObject == null ? "-" : oldObject.kind)',
    '(namespaceObject == null ? "-" : namespaceObject.metadata.name)',
  ];
  await install(client, 'p', {
    matchConstraints: rule(['*/*'], ['*'], ['*']),
    validations: [{ expression: 'false', messageExpression: parts.join(' + " " + ') }],
  });
  const told = async (...asked: [string, string, object?, string?]) => onlyMessage(await refusal(client, ...asked));
  const merge = 'application/merge-patch+json';
  const deployment = '/apis/apps/v1/namespaces/default/deployments/d';
  expect(await told('POST', `${CONFIG_MAPS}?dryRun=All`, { metadata: { name: 'b' } })).toBe(
    'CREATE ConfigMap configmaps - b default CreateOptions ConfigMap - default',
  );
  expect(await told('PATCH', `${CONFIG_MAPS}/a`, { data: { k: 'v' } }, merge)).toBe(
    'UPDATE ConfigMap configmaps - a default UpdateOptions ConfigMap ConfigMap default',
  );
  const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } };
  expect(await told('PATCH', `${CONFIG_MAPS}/c?fieldManager=m`, applied, 'application/apply-patch+yaml')).toBe(
    'CREATE ConfigMap configmaps - c default CreateOptions ConfigMap - default',
  );
  expect(await told('DELETE', `${CONFIG_MAPS}/a`)).toBe(
    'DELETE ConfigMap configmaps - a default DeleteOptions - ConfigMap default',
  );
  expect(await told('DELETE', `${CONFIG_MAPS}?labelSelector=x%3Dy`)).toBe(
    'DELETE ConfigMap configmaps - - default DeleteOptions - ConfigMap default',
  );
  expect(await told('PATCH', `${deployment}/scale`, { spec: { replicas: 3 } }, merge)).toBe(
    'UPDATE Scale deployments scale d default UpdateOptions Scale Scale default',
  );
  expect(await told('PATCH', `${deployment}/status`, { status: { replicas: 3 } }, merge)).toBe(
    'UPDATE Deployment deployments status d default UpdateOptions Deployment Deployment default',
  );
  expect(await told('POST', '/api/v1/namespaces', { metadata: { name: 'n' } })).toBe(
    'CREATE Namespace namespaces - n n CreateOptions Namespace - -',
  );
  expect(await told('POST', '/api/v1/nodes', { metadata: { name: 'n' } })).toBe(
    'CREATE Node nodes - n - CreateOptions Node - -',
  );
});

it('a mutating policy changes custom objects in all their versions, and counts by subresource', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = (name: string, storage: boolean, openAPIV3Schema: JsonObject) => ({
    ...{ name, served: true, storage, schema: { openAPIV3Schema } },
  });
  const spec = {
    type: 'object',
    properties: { size: { type: 'integer' }, color: { type: 'string', default: 'red' } },
  };
  await client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.x.io' },
    spec: {
      group: 'x.io',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [version('v1', true, { type: 'object', properties: { spec } }), version('v2', false, open)],
    },
  });
  await install(client, 'p', {
    reinvocationPolicy: 'Never',
    matchConstraints: rule(['widgets'], ['x.io']),
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: { expression: 'Object{spec: Object.spec{size: object.spec.size + 1}}' },
      },
    ],
  });
  const created = async (apiVersion: string, name: string) => {
    const path = `/apis/${apiVersion}/namespaces/default/widgets`;
    for (let attempt = 0; ; attempt++) {
      const body = { apiVersion, kind: 'Widget', metadata: { name: `${name}${attempt}` }, spec: { size: 1 } };
      const answer = await client.ask('POST', path, { body });
      const made = JSON.parse(answer.body.toString()) as { spec?: { size?: number } };
      if (answer.status === 201 && made.spec?.size !== 1) return made.spec;
    }
  };
  expect(await created('x.io/v1', 'a')).toEqual({ size: 2, color: 'red' });
  expect(await created('x.io/v2', 'b')).toEqual({ size: 2 });

  await client.create('/apis/apps/v1/namespaces/default/deployments', {
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  await install(client, 's', {
    reinvocationPolicy: 'Never',
    matchConstraints: rule(['deployments/scale'], ['apps']),
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: { expression: 'Object{spec: Object.spec{paused: true}}' },
      },
    ],
  });
  const path = '/apis/apps/v1/namespaces/default/deployments/d/scale';
  const merge = 'application/merge-patch+json';
  // A Deployment has such a field, a Scale does not.
  expect(onlyMessage(await refusal(client, 'PATCH', path, { spec: { replicas: 3 } }, merge))).toBe(
    'error applying patch: failed to convert patch object to typed object: .spec.paused: field not declared in schema',
  );
}, 60_000);
