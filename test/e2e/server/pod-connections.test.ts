/**
 * `log`, `exec`, `attach`, `portforward` and `proxy`: what a cluster answers whose nodes are not there or only pretended, who
 * may ask, and what admission is told of it.
 */
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PRETEND_LABEL } from '../../../src/api/index.ts';
import { credentialsOf, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { until } from '../../support/client/client-under-test.ts';

const PODS = '/api/v1/namespaces/default/pods';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const STARTED = '2024-05-06T07:08:09Z';
const LINE = 'Nothing runs here: node "pretended" is only pretended, and its containers write no logs.\n';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const { client } = server;
  const node = (name: string, labels: object, status?: object) =>
    client.create('/api/v1/nodes', { metadata: { name, labels }, ...(status && { status }) });
  await node('pretended', { [PRETEND_LABEL]: 'true' });
  await node('bare', {});
  await node('real', {}, { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] });
  const pod = async (name: string, containers: string[], nodeName?: string, states: object[] = []) => {
    const spec = { nodeName, containers: containers.map((one) => ({ name: one, image: 'i' })) };
    await client.create(PODS, { metadata: { name }, spec });
    const containerStatuses = containers.map((one, i) => ({
      name: one,
      ...{ image: 'i', imageID: '', ready: true, restartCount: 0, state: states[i] ?? {} },
    }));
    await client.ask('PATCH', `${PODS}/${name}/status`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ status: { startTime: STARTED, containerStatuses } }),
    });
  };
  await pod('waiting', ['a']);
  await pod('two', ['a', 'b'], 'pretended', [
    { running: { startedAt: STARTED } },
    { waiting: { reason: 'ImagePullBackOff' } },
  ]);
  await pod('one', ['a'], 'pretended', [{ running: { startedAt: STARTED } }]);
  await pod('lost', ['a'], 'nowhere');
  await pod('bare', ['a'], 'bare');
  await pod('real', ['a'], 'real');
});
afterAll(() => server[Symbol.asyncDispose]());

type Answer = { status: number; type: string; text: string };

/** As a client that upgrades does it: HTTP/1.1 with `Connection: Upgrade`. */
function ask(method: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const { ca, token } = credentialsOf(server.dataDir, server.kubeconfigPath);
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, {
      method,
      ca,
      agent: false,
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    sent.on('error', reject);
    sent.on('response', async (answer) => {
      let text = '';
      for await (const chunk of answer) text += String(chunk);
      resolve({ status: answer.statusCode ?? 0, type: answer.headers['content-type'] ?? '', text });
    });
    sent.end();
  });
}
const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' };
const told = ({ status, text }: Answer) => {
  const { reason, message } = JSON.parse(text) as { reason?: string; message: string };
  return [status, reason, message];
};

describe('logs', () => {
  it.each([
    ['', LINE],
    ['?follow=true', LINE],
    ['?timestamps=1', `${STARTED} ${LINE}`],
    ['?tailLines=0', ''],
    ['?tailLines=3', LINE],
    ['?limitBytes=7', 'Nothing'],
    ['?sinceSeconds=60', ''],
    ['?sinceTime=2024-05-06T07:08:10Z', ''],
    ['?sinceTime=2024-05-06T09:08:09%2B02:00', LINE],
  ])('of a container on a pretended node say that nothing runs there: %s', async (query, text) => {
    expect(await ask('GET', `${PODS}/one/log${query}`)).toEqual({ status: 200, type: 'text/plain', text });
  });

  it('of a pod without a node are empty', async () =>
    expect(await ask('GET', `${PODS}/waiting/log`)).toEqual({ status: 204, type: '', text: '' }));

  it.each<[path: string, status: number, reason: string | undefined, message: string]>([
    ['none/log', 404, 'NotFound', 'pods "none" not found'],
    ['lost/log', 404, 'NotFound', 'nodes "nowhere" not found'],
    ['bare/log', 500, undefined, 'no preferred addresses found; known addresses: []'],
    [
      ...(['real/log', 500, undefined] as const),
      'error dialing backend: this server does not call kubelets, so what runs on node "real" cannot be reached',
    ],
    ['two/log', 400, 'BadRequest', 'a container name must be specified for pod two, choose one of: [a b]'],
    ['two/log?container=c', 400, 'BadRequest', 'container c is not valid for pod two'],
    [
      ...(['two/log?container=b', 400, 'BadRequest'] as const),
      'container "b" in pod "two" is waiting to start: trying and failing to pull image',
    ],
    [
      ...(['one/log?previous=true', 400, 'BadRequest'] as const),
      'previous terminated container "a" in pod "one" not found',
    ],
    ['one/log?tailLines=x', 400, 'BadRequest', 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      ...(['one/log?tailLines=-1', 422, 'Invalid'] as const),
      'PodLogOptions "one" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      ...(['one/log?limitBytes=0&stream=Stdout', 422, 'Invalid'] as const),
      'PodLogOptions "one" is invalid: [limitBytes: Invalid value: 0: must be greater than 0, stream: Forbidden: may not be specified]',
    ],
    [
      ...(['one/log?sinceSeconds=0', 422, 'Invalid'] as const),
      'PodLogOptions "one" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
    ],
  ])('%s is refused', async (path, status, reason, message) => {
    expect(told(await ask('GET', `${PODS}/${path}`))).toEqual([status, reason, message]);
  });

  it('are only read', async () => expect(await ask('POST', `${PODS}/one/log`)).toMatchObject({ status: 405 }));
});

const PRETENDED = 'error dialing backend: node "pretended" is only pretended, and nothing runs there';

describe('connections', () => {
  it.each<[path: string, status: number, reason: string | undefined, message: string]>([
    ['none/exec', 404, 'NotFound', 'pods "none" not found'],
    ['waiting/exec', 400, 'BadRequest', 'pod waiting does not have a host assigned'],
    ['waiting/portforward', 400, 'BadRequest', 'pod waiting does not have a host assigned'],
    ['lost/attach', 404, 'NotFound', 'nodes "nowhere" not found'],
    ['bare/exec', 500, undefined, 'no preferred addresses found; known addresses: []'],
    ['two/exec', 400, 'BadRequest', 'a container name must be specified for pod two, choose one of: [a b]'],
    ['two/attach?container=c', 400, 'BadRequest', 'container c is not valid for pod two'],
    ['two/portforward', 500, undefined, PRETENDED],
    ['one/exec?command=ls&stdin=1', 500, undefined, PRETENDED],
    ['one/attach?container=a', 500, undefined, PRETENDED],
    ['one/portforward?ports=x', 400, 'BadRequest', 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      'one/portforward?ports=3000000000',
      400,
      'BadRequest',
      'strconv.ParseInt: parsing "3000000000": value out of range',
    ],
  ])('%s is refused, by GET as by POST', async (path, status, reason, message) => {
    for (const method of ['GET', 'POST'])
      expect(told(await ask(method, `${PODS}/${path}`, UPGRADE))).toEqual([status, reason, message]);
  });

  it('that do not ask to be upgraded are told to', async () =>
    expect(told(await ask('POST', `${PODS}/one/exec`))).toEqual([400, 'BadRequest', 'Upgrade request required']));

  it('need the right to create, also with GET, and logs do not', async () => {
    const { client } = server;
    await client.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'reader' } });
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods/exec', 'pods/log'] }];
    await client.create(`${RBAC}/namespaces/default/roles`, { metadata: { name: 'reader' }, rules });
    await client.create(`${RBAC}/namespaces/default/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }],
    });
    const { status } = (await client.create('/api/v1/namespaces/default/serviceaccounts/reader/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    })) as unknown as { status: { token: string } };
    const as = { authorization: `Bearer ${status.token}` };
    await until(async () => (await ask('GET', `${PODS}/one/log`, as)).status === 200);
    const refusal =
      'pods "one" is forbidden: User "system:serviceaccount:default:reader" cannot create resource "pods/exec" in API group "" in the namespace "default"';
    for (const method of ['GET', 'POST'])
      expect(told(await ask(method, `${PODS}/one/exec`, { ...UPGRADE, ...as }))).toEqual([403, 'Forbidden', refusal]);
    expect((await ask('GET', `${PODS}/one/attach`, { ...UPGRADE, ...as })).status).toBe(403);
  });

  it('have no dry run', async () =>
    expect(told(await ask('POST', `${PODS}/one/exec?dryRun=All`, UPGRADE))).toEqual([
      400,
      'BadRequest',
      'dryRun is not supported',
    ]));

  it('pass admission as CONNECT, with their options as the object', async () => {
    const GROUP = '/apis/admissionregistration.k8s.io/v1';
    const { client } = server;
    await client.create(`${GROUP}/validatingadmissionpolicies`, {
      metadata: { name: 'no-shells' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CONNECT'], resources: ['pods/exec', 'pods/attach'] },
          ],
        },
        validations: [
          {
            expression: "object.kind != 'PodExecOptions' || !('sh' in object.command)",
            messageExpression:
              "request.operation + ' ' + request.kind.kind + ' ' + request.name + ' ' + object.container",
          },
        ],
      },
    });
    await client.create(`${GROUP}/validatingadmissionpolicybindings`, {
      metadata: { name: 'no-shells' },
      spec: { policyName: 'no-shells', validationActions: ['Deny'] },
    });
    const shell = () => ask('POST', `${PODS}/one/exec?command=sh&container=a`, UPGRADE);
    await until(async () => (await shell()).status === 422);
    expect(told(await shell())[2]).toBe(
      `pods "one" is forbidden: ValidatingAdmissionPolicy 'no-shells' with binding 'no-shells' denied request: CONNECT PodExecOptions one a`,
    );
    expect(told(await ask('POST', `${PODS}/one/exec?command=ls`, UPGRADE))[2]).toBe(PRETENDED);
    expect(told(await ask('POST', `${PODS}/one/attach`, UPGRADE))[2]).toBe(PRETENDED);
  });
});

const UNREACHED = 'error trying to reach service: this server does not connect to what runs in a cluster';

describe('proxies', () => {
  const IN_DEFAULT = '/api/v1/namespaces/default';
  beforeAll(async () => {
    const { client } = server;
    await client.create(PODS, { metadata: { name: 'placed' }, spec: { containers: [{ name: 'a', image: 'i' }] } });
    await client.ask('PATCH', `${PODS}/placed/status`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ status: { podIP: '192.0.2.7', podIPs: [{ ip: '192.0.2.7' }] } }),
    });
    const ports = [{ name: 'web', port: 80 }];
    for (const name of ['empty', 'full'])
      await client.create(`${IN_DEFAULT}/services`, { metadata: { name }, spec: { ports } });
    await client.create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name: 'full-1', labels: { 'kubernetes.io/service-name': 'full' } },
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: ['192.0.2.7'] }],
    });
  });

  it.each<[path: string, status: number, reason: string | undefined, message: string]>([
    ['namespaces/default/pods/none/proxy', 404, 'NotFound', 'pods "none" not found'],
    ['namespaces/default/pods/one/proxy/', 400, 'BadRequest', 'address not allowed'],
    ['namespaces/default/pods/ftp:one:80/proxy/x', 400, 'BadRequest', 'invalid pod request "ftp:one:80"'],
    ['namespaces/default/pods/http:placed:80/proxy/a/b', 503, 'ServiceUnavailable', UNREACHED],
    ['namespaces/default/services/none/proxy', 404, 'NotFound', 'services "none" not found'],
    [
      ...(['namespaces/default/services/empty/proxy', 503, 'ServiceUnavailable'] as const),
      'no endpoints available for service "empty"',
    ],
    [
      ...(['namespaces/default/services/full:81/proxy', 503, 'ServiceUnavailable'] as const),
      'no service port 81 found for service "full"',
    ],
    ['namespaces/default/services/full:80/proxy', 503, 'ServiceUnavailable', UNREACHED],
    ['namespaces/default/services/https:full:web/proxy/', 503, 'ServiceUnavailable', UNREACHED],
    ['nodes/none/proxy/metrics', 404, 'NotFound', 'nodes "none" not found'],
    ['nodes/bare/proxy/', 500, undefined, 'no preferred addresses found; known addresses: []'],
    ['nodes/real/proxy/pods', 503, 'ServiceUnavailable', UNREACHED],
    ['nodes/a:b:c:d/proxy', 400, 'BadRequest', 'invalid node request "a:b:c:d"'],
    ['namespaces/default/pods/placed/proxy/?dryRun=All', 400, 'BadRequest', 'dryRun is not supported'],
  ])('%s leads as far as it can', async (path, status, reason, message) => {
    for (const method of ['GET', 'POST'])
      expect(told(await ask(method, `/api/v1/${path}`))).toEqual([status, reason, message]);
  });

  it('pass admission with the path that is asked for', async () => {
    const GROUP = '/apis/admissionregistration.k8s.io/v1';
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CONNECT'], resources: ['services/proxy'] };
    await server.client.create(`${GROUP}/validatingadmissionpolicies`, {
      metadata: { name: 'no-admin' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [
          {
            expression: "!has(object.path) || !object.path.startsWith('/admin')",
            messageExpression: "object.kind + ' ' + object.path + ' ' + request.name",
          },
        ],
      },
    });
    await server.client.create(`${GROUP}/validatingadmissionpolicybindings`, {
      metadata: { name: 'no-admin' },
      spec: { policyName: 'no-admin', validationActions: ['Deny'] },
    });
    const admin = () => ask('GET', `${IN_DEFAULT}/services/full:web/proxy/admin/users/`);
    await until(async () => (await admin()).status === 422);
    expect(told(await admin())[2]).toBe(
      `services "full:web" is forbidden: ValidatingAdmissionPolicy 'no-admin' with binding 'no-admin' denied request: ServiceProxyOptions /admin/users/ full:web`,
    );
    expect(told(await ask('GET', `${IN_DEFAULT}/services/full:web/proxy/public`))[2]).toBe(UNREACHED);
  });
});
