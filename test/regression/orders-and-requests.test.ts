/**
 * Rights that are more than the right to write an object: a certificate is requested in one's own name only, and granted
 * by who may speak for its signer. And `bindings` are orders to pods: they were stored, where nobody could see or remove
 * them.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, startTestServer, type TestServer } from '../../src/testing/index.ts';
import { certificateRequest } from '../support/certificate-request.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const signerName = 'example.com/signer';
const approved = { type: 'Approved', status: 'True', reason: 'Ok', message: 'fine' };

let server: TestServer;
/** Any that is one: the server's own authority. */
let certificate: string;
beforeAll(async () => {
  server = await startTestServer();
  const kubeconfig = readFileSync(server.kubeconfigPath, 'utf8');
  certificate = /certificate-authority-data: (\S+)/.exec(kubeconfig)![1]!;
  const all = { apiGroups: ['certificates.k8s.io'] };
  const csrs = ['', '/approval', '/status'].map((part) => `certificatesigningrequests${part}`);
  await give('writer', [{ ...all, verbs: ['*'], resources: csrs }]);
  await give('approver', [
    { ...all, verbs: ['*'], resources: csrs },
    { ...all, verbs: ['approve'], resources: ['signers'], resourceNames: [signerName] },
  ]);
  await give('domain', [
    { ...all, verbs: ['*'], resources: csrs },
    { ...all, verbs: ['approve', 'sign'], resources: ['signers'], resourceNames: ['example.com/*'] },
  ]);
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function give(name: string, rules: object[]): Promise<void> {
  const { client } = server;
  await client.create(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await client.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', name }],
  });
  const resourceAttributes = { verb: 'get', group: 'certificates.k8s.io', resource: 'certificatesigningrequests' };
  for (;;) {
    const review = { spec: { user: name, resourceAttributes } };
    const { status } = await client.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    if ((status as { allowed: boolean }).allowed) return;
  }
}

function send(user: string, method: string, path: string, body: object): Promise<Answer> {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return server.client.ask(method, path, { headers: { 'content-type': contentType, 'impersonate-user': user }, body });
}

/** What an answer says, as an object of unknown shape. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
const read = ({ body }: Answer): any => JSON.parse(body.toString());

const request = (name: string, more: object = {}) => ({
  metadata: { name },
  spec: { request: Buffer.from(certificateRequest).toString('base64'), signerName, usages: ['client auth'], ...more },
});

it('a certificate is requested in the name of who asks, whatever the request says', async () => {
  const lie = { username: 'root', uid: '1', groups: ['system:masters'], extra: { a: ['b'] } };
  const answer = await send('writer', 'POST', CSRS, { ...request('lie', lie), status: { conditions: [approved] } });
  expect(answer.status).toBe(201);
  const { spec, status } = read(answer);
  expect({ ...spec, request: '' }).toEqual({
    request: '',
    signerName,
    usages: ['client auth'],
    username: 'writer',
    groups: ['system:authenticated'],
  });
  expect(status).toEqual({});
  const changed = await send('writer', 'PATCH', `${CSRS}/lie`, { spec: lie });
  expect([changed.status, read(changed).spec]).toEqual([200, spec]);
});

it.each([
  { user: 'writer', approving: 403, signing: 403 },
  { user: 'approver', approving: 200, signing: 403 },
  { user: 'domain', approving: 200, signing: 200 },
])('to the $user approving is answered $approving and signing $signing', async ({ user, approving, signing }) => {
  await server.client.create(CSRS, request(`of-${user}`));
  const path = `${CSRS}/of-${user}`;
  const refusal = (verb: string) =>
    `certificatesigningrequests.certificates.k8s.io "of-${user}" is forbidden: user not permitted to ${verb} requests with signerName "${signerName}"`;
  const approval = await send(user, 'PATCH', `${path}/approval`, { status: { conditions: [approved] } });
  expect(approval.status).toBe(approving);
  if (approving === 403) expect(read(approval).message).toBe(refusal('approve'));
  const signed = await send(user, 'PATCH', `${path}/status`, { status: { certificate } });
  expect(signed.status).toBe(signing);
  if (signing === 403) expect(read(signed).message).toBe(refusal('sign'));
  const status = read(await send(user, 'GET', path, {})).status;
  expect([status.conditions?.length ?? 0, status.certificate]).toEqual([
    approving === 200 ? 1 : 0,
    signing === 200 ? certificate : undefined,
  ]);
});

it('an approval is given by `approval` only, brings no certificate, and is not taken back', async () => {
  await server.client.create(CSRS, request('lasting'));
  const path = `${CSRS}/lasting`;
  const byStatus = await send('domain', 'PATCH', `${path}/status`, { status: { conditions: [approved] } });
  expect([byStatus.status, read(byStatus).message]).toEqual([
    422,
    'CertificateSigningRequest.certificates.k8s.io "lasting" is invalid: status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  ]);
  const both = { status: { conditions: [approved], certificate } };
  expect(read(await send('domain', 'PATCH', `${path}/approval`, both)).status).toEqual({
    conditions: [{ ...approved, lastUpdateTime: expect.any(String), lastTransitionTime: expect.any(String) }],
  });
  const taken = await send('domain', 'PATCH', `${path}/approval`, { status: { conditions: [] } });
  expect([taken.status, read(taken).message]).toEqual([
    422,
    'CertificateSigningRequest.certificates.k8s.io "lasting" is invalid: status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ]);
});

it('what was approved stays as it was, and a certificate is issued once, whatever `status` says later', async () => {
  await server.client.create(CSRS, request('issued'));
  const path = `${CSRS}/issued`;
  await send('domain', 'PATCH', `${path}/approval`, { status: { conditions: [approved] } });
  const status = { conditions: [{ ...approved, message: 'changed' }], certificate };
  const issued = await send('domain', 'PATCH', `${path}/status`, { status });
  expect([issued.status, read(issued).status]).toEqual([
    200,
    { conditions: [expect.objectContaining({ type: 'Approved', message: 'fine' })], certificate },
  ]);
  const again = Buffer.from(certificate, 'base64').toString().repeat(2);
  const answer = await send('domain', 'PATCH', `${path}/status`, {
    status: { conditions: [], certificate: Buffer.from(again).toString('base64') },
  });
  expect([answer.status, read(answer).message]).toEqual([
    422,
    'CertificateSigningRequest.certificates.k8s.io "issued" is invalid: [status.conditions: Forbidden: updates may not remove a condition of type "Approved", status.certificate: Forbidden: updates may not modify existing certificate content]',
  ]);
});

it('a binding binds the pod it names, and is not stored', async () => {
  const { client } = server;
  const pods = '/api/v1/namespaces/default/pods';
  await client.create(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
  const bind = (name: string, dryRun?: string) =>
    client.ask('POST', '/api/v1/namespaces/default/bindings', {
      body: { metadata: { name }, target: { kind: 'Node', name: 'n' } },
      ...(dryRun && { query: { dryRun } }),
    });
  expect((await bind('p', 'All')).status).toBe(201);
  expect(((await client.get(`${pods}/p`)).spec as { nodeName?: string }).nodeName).toBeUndefined();
  const answer = await bind('p');
  expect([answer.status, read(answer)]).toEqual([
    201,
    { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 },
  ]);
  expect(((await client.get(`${pods}/p`)).spec as { nodeName?: string }).nodeName).toBe('n');
  const missing = await bind('q');
  expect([missing.status, read(missing).message]).toEqual([404, 'pods "q" not found']);
});
