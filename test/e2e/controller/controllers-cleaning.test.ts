/** Controllers that clean up: Pods that nobody will end, certificate requests that nobody needs. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { certificatesv1, corev1, type KubeClient } from '../../../src/client/index.ts';
import { Manager } from '../../../src/controller/index.ts';
import { requestCleanerController } from '../../../src/controllers/certificates/request-cleaner.ts';
import { tokenCleanerController } from '../../../src/controllers/namespaces/token-cleaner.ts';
import { podGarbageCollector } from '../../../src/controllers/nodes/pod-garbage-collector.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { certificateRequest } from '../../support/certificate-request.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';

let server: TestServer;
let client: KubeClient;
beforeAll(async () => {
  server = await startTestServer();
  client = await adminOf(server);
});
afterAll(async () => {
  await client?.close();
  await server?.[Symbol.asyncDispose]();
});

const pods = () => client.resource(corev1.pods, 'default');
const make = (name: string, nodeName?: string) =>
  pods().create({
    metadata: { name },
    spec: { ...(nodeName && { nodeName }), containers: [{ name: 'c', image: 'i' }] },
  });
const names = async () => (await pods().list()).items.map(({ metadata }) => metadata.name).sort();
const finish = async (name: string) => {
  const pod = await pods().get(name);
  await pods().status.update(name, { ...pod, status: { ...pod.status, phase: 'Succeeded' } });
};

it('Pods of a Node that is gone go, and those of one that is there stay', async () => {
  await client.resource(corev1.nodes).create({ metadata: { name: 'here' }, spec: {} });
  await client.resource(corev1.nodes).create({ metadata: { name: 'going' }, spec: {} });
  await make('stays', 'here');
  await make('goes', 'going');
  await make('lost', 'nowhere');
  await make('waits');
  await using manager = new Manager({ client, logger: false });
  manager.add(podGarbageCollector({ quarantineMs: 0, maxFinished: 100 }));
  manager.start();
  await until(async () => (await names()).join() === 'goes,stays,waits');
  await client.resource(corev1.nodes).delete('going');
  await until(async () => (await names()).join() === 'stays,waits');
});

it('of finished Pods the oldest go, until as many are left as may stay', async () => {
  for (const name of ['f1', 'f2', 'f3']) await make(name, 'here');
  for (const name of ['f1', 'f2', 'f3']) await finish(name);
  await using manager = new Manager({ client, logger: false });
  manager.add(podGarbageCollector({ quarantineMs: 0, maxFinished: 1 }));
  manager.start();
  await until(async () => (await names()).filter((name) => name.startsWith('f')).length === 1);
  expect(await names()).toEqual(expect.arrayContaining(['stays', 'waits']));
});

it('a certificate request goes an hour after it was decided, and not before', async () => {
  const requests = client.resource(certificatesv1.certificateSigningRequests);
  const spec = {
    request: Buffer.from(certificateRequest).toString('base64'),
    signerName: 'example.com/signer',
    usages: ['client auth' as const],
  };
  const hourAgo = new Date(Date.now() - 3601 * 1000).toISOString().replace(/\.\d+/, '');
  for (const [name, lastUpdateTime] of [
    ['old', hourAgo],
    ['new', undefined],
    ['open', ''],
  ] as const) {
    const made = await requests.create({ metadata: { name }, spec });
    if (lastUpdateTime === '') continue;
    const condition = { type: 'Approved', status: 'True', reason: 'Test', message: '', lastUpdateTime } as const;
    await requests.subresource<object>('approval').update(name, { ...made, status: { conditions: [condition] } });
  }
  await using manager = new Manager({ client, logger: false });
  manager.add(requestCleanerController);
  manager.start();
  await until(async () => (await requests.find('old')) === undefined);
  expect((await requests.list()).items.map(({ metadata }) => metadata.name).sort()).toEqual(['new', 'open']);
});

it('a bootstrap token goes when its time is over, or cannot be read, and stays without one', async () => {
  const secrets = client.resource(corev1.secrets, 'kube-system');
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
  const times = { aaaaaa: inMs(-1000), bbbbbb: inMs(3_600_000), cccccc: 'soon', dddddd: inMs(1500), eeeeee: undefined };
  for (const [id, expiration] of Object.entries(times))
    await secrets.create({
      metadata: { name: `bootstrap-token-${id}` },
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', ...(expiration && { expiration }) },
    });
  await using manager = new Manager({ client, logger: false });
  manager.add(tokenCleanerController);
  manager.start();
  const left = async () =>
    (await secrets.list({ fieldSelector: 'type=bootstrap.kubernetes.io/token' })).items.map(({ data }) =>
      Buffer.from(data!['token-id']!, 'base64').toString(),
    );
  await until(async () => (await left()).join() === 'bbbbbb,eeeeee');
});

it('Events go when their time is over, and it can be told how long that is', async () => {
  await using short = await startTestServer({ eventTtlSeconds: 1 });
  await using kube = await adminOf(short);
  const events = kube.resource(corev1.events, 'default');
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' };
  await events.create({ metadata: { name: 'e' }, involvedObject, reason: 'Test' });
  expect((await events.list()).items).toHaveLength(1);
  await until(async () => (await events.list()).items.length === 0);
});
