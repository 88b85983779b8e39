/** The controllers that a bare server needs, beside a server in this process: each by the rule of the real one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AnyObject, appsv1, corev1, type KubeClient, mergePatch, rbacv1 } from '../../../src/client/index.ts';
import { startControllers } from '../../../src/controllers/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';

let server: TestServer;
let client: KubeClient;
let count = 0;

beforeAll(async () => {
  server = await startTestServer({ controllers: [] });
  client = await adminOf(server);
});
afterAll(async () => {
  await client?.close();
  await server?.[Symbol.asyncDispose]();
});

async function newNamespace(): Promise<string> {
  const name = `ns-${count++}`;
  await client.resource(corev1.namespaces).create({ metadata: { name } });
  return name;
}

const FINALIZER = 'example.com/held';
const pod = (name: string, volumes: object[] = []) => ({
  metadata: { name },
  spec: { nodeName: 'far-away', containers: [{ name: 'c', image: 'example.com/c:1' }], volumes: volumes as never },
});
const ownedBy = (...owners: AnyObject[]) =>
  owners.map(({ kind, apiVersion, metadata: { name, uid } }) => ({ kind, apiVersion, name, uid }));
const blocking = (owner: AnyObject) => ownedBy(owner).map((one) => ({ ...one, blockOwnerDeletion: true }));

describe('every namespace', () => {
  it('has a default account and the authority of the server, also those that were there before', async () => {
    const names = ['default', 'kube-system', 'kube-public', 'kube-node-lease', await newNamespace()];
    for (const name of names) {
      await until(async () => (await client.resource(corev1.serviceAccounts, name).find('default')) !== undefined);
      await until(async () => (await client.resource(corev1.configMaps, name).find('kube-root-ca.crt')) !== undefined);
    }
    const { data, metadata } = await client.resource(corev1.configMaps, names.at(-1)).get('kube-root-ca.crt');
    expect(data?.['ca.crt']).toMatch(/^-----BEGIN CERTIFICATE-----/);
    expect(metadata.annotations?.['kubernetes.io/description']).toMatch(/^Contains a CA bundle/);
  });

  it('has them again when they were deleted or changed', async () => {
    const n = await newNamespace();
    const [accounts, maps] = [client.resource(corev1.serviceAccounts, n), client.resource(corev1.configMaps, n)];
    await until(async () => (await accounts.find('default')) !== undefined);
    await until(async () => (await maps.find('kube-root-ca.crt')) !== undefined);
    const before = await accounts.get('default');
    await accounts.delete('default');
    await until(
      async () => ((await accounts.find('default'))?.metadata.uid ?? before.metadata.uid) !== before.metadata.uid,
    );
    await maps.patch('kube-root-ca.crt', mergePatch({ data: { 'ca.crt': 'a lie', more: 'x' } }));
    await until(async () => Object.keys((await maps.get('kube-root-ca.crt')).data ?? {}).join() === 'ca.crt');
    await maps.delete('kube-root-ca.crt');
    await until(async () => (await maps.find('kube-root-ca.crt')) !== undefined);
  });
});

describe('a namespace that is deleted', () => {
  const conditionsOf = ({ status }: corev1.Namespace) =>
    Object.fromEntries((status?.conditions ?? []).map(({ type, status: is, message }) => [type, `${is} ${message}`]));

  it('goes with everything in it', async () => {
    const n = await newNamespace();
    for (let i = 0; i < 5; i++) await client.resource(corev1.configMaps, n).create({ metadata: { name: `c${i}` } });
    await client.resource(corev1.namespaces).delete(n);
    await until(async () => (await client.resource(corev1.namespaces).find(n)) === undefined);
    expect((await client.resource(corev1.configMaps, n).list()).items).toEqual([]);
  });

  it('says what holds it, and goes when that lets go', async () => {
    const n = await newNamespace();
    const maps = client.resource(corev1.configMaps, n);
    await maps.create({ metadata: { name: 'held', finalizers: [FINALIZER] } });
    await client.resource(corev1.namespaces).delete(n);
    await until(
      async () => 'NamespaceContentRemaining' in conditionsOf(await client.resource(corev1.namespaces).get(n)),
    );
    expect(conditionsOf(await client.resource(corev1.namespaces).get(n))).toMatchObject({
      NamespaceDeletionDiscoveryFailure: 'False All resources successfully discovered',
      NamespaceDeletionContentFailure: 'False All content successfully deleted, may be waiting on finalization',
      NamespaceContentRemaining: 'True Some resources are remaining: configmaps. has 1 resource instances',
      NamespaceFinalizersRemaining: `True Some content in the namespace has finalizers remaining: ${FINALIZER} in 1 resource instances`,
    });
    await maps.patch('held', mergePatch({ metadata: { finalizers: null } }));
    await until(async () => (await client.resource(corev1.namespaces).find(n)) === undefined);
  });

  it('keeps everything else while a pod is left', async () => {
    const n = await newNamespace();
    await client.resource(corev1.configMaps, n).create({ metadata: { name: 'used' } });
    await client.resource(corev1.pods, n).create(pod('p'));
    await client.resource(corev1.namespaces).delete(n);
    await until(async () => (await client.resource(corev1.pods, n).get('p')).metadata.deletionTimestamp !== undefined);
    await until(
      async () => 'NamespaceContentRemaining' in conditionsOf(await client.resource(corev1.namespaces).get(n)),
    );
    expect(conditionsOf(await client.resource(corev1.namespaces).get(n)).NamespaceContentRemaining).toMatch(/^False/);
    expect(await client.resource(corev1.configMaps, n).find('used')).toBeDefined();
    await client.resource(corev1.pods, n).delete('p', { gracePeriodSeconds: 0 });
    await until(async () => (await client.resource(corev1.namespaces).find(n)) === undefined);
    expect(await client.resource(corev1.configMaps, n).find('used')).toBeUndefined();
  });

  it('stays for a finalizer that is not ours', async () => {
    const name = `ns-${count++}`;
    await client.resource(corev1.namespaces).create({ metadata: { name }, spec: { finalizers: [FINALIZER] } });
    await client.resource(corev1.namespaces).delete(name);
    await until(
      async () => (await client.resource(corev1.namespaces).get(name)).spec?.finalizers?.join() === FINALIZER,
    );
    const left = await client.resource(corev1.namespaces).get(name);
    await client
      .resource(corev1.namespaces)
      .subresource<corev1.Namespace>('finalize')
      .update(name, { ...left, spec: {} });
    expect(await client.resource(corev1.namespaces).find(name)).toBeUndefined();
  });
});

describe('the garbage collector', () => {
  it('takes what has an owner of another uid, name, or namespace, and keeps what has one that lives', async () => {
    const [n, other] = [await newNamespace(), await newNamespace()];
    const maps = client.resource(corev1.configMaps, n);
    const owner = await maps.create({ metadata: { name: 'owner' } });
    const elsewhere = await client.resource(corev1.configMaps, other).create({ metadata: { name: 'elsewhere' } });
    const role = await client.resource(rbacv1.clusterRoles).create({ metadata: { name: n }, rules: [] });
    const [reference] = ownedBy(owner);
    const named = { owned: [reference!], wide: ownedBy(role), uid: [{ ...reference!, uid: 'another' }] };
    const more = { name: [{ ...reference!, name: 'nobody' }], elsewhere: ownedBy(elsewhere) };
    for (const [name, ownerReferences] of Object.entries({ ...named, ...more }))
      await maps.create({ metadata: { name, ownerReferences } });
    for (const name of ['uid', 'name', 'elsewhere']) await until(async () => (await maps.find(name)) === undefined);
    expect(await maps.find('owned')).toBeDefined();
    await client.resource(rbacv1.clusterRoles).delete(n);
    await until(async () => (await maps.find('wide')) === undefined);
    expect(await maps.find('owned')).toBeDefined();
  });

  it('keeps what is cluster-wide and names an owner in a namespace, and says so', async () => {
    const n = await newNamespace();
    const owner = await client.resource(corev1.configMaps, n).create({ metadata: { name: 'owner' } });
    await client
      .resource(rbacv1.clusterRoles)
      .create({ metadata: { name: n, ownerReferences: ownedBy(owner) }, rules: [] });
    await until(async () =>
      (await client.resource(corev1.events, 'default').list()).items.some(
        ({ reason, involvedObject }) => reason === 'OwnerRefInvalidNamespace' && involvedObject.name === n,
      ),
    );
    await client.resource(corev1.configMaps, n).delete('owner');
    const witness = { metadata: { name: 'w', ownerReferences: ownedBy(owner) } };
    await client.resource(corev1.configMaps, n).create(witness);
    await until(async () => (await client.resource(corev1.configMaps, n).find('w')) === undefined);
    expect(await client.resource(rbacv1.clusterRoles).find(n)).toBeDefined();
  });

  it('foreground: what blocks goes first, with what belongs to it; the rest goes too', async () => {
    const maps = client.resource(corev1.configMaps, await newNamespace());
    const top = await maps.create({ metadata: { name: 'top' } });
    const middle = await maps.create({ metadata: { name: 'middle', ownerReferences: blocking(top) } });
    const finalizers = [FINALIZER];
    await maps.create({ metadata: { name: 'bottom', ownerReferences: blocking(middle), finalizers } });
    await maps.create({ metadata: { name: 'loose', ownerReferences: ownedBy(top) } });
    await maps.delete('top', { propagationPolicy: 'Foreground' });
    await until(async () => (await maps.get('bottom')).metadata.deletionTimestamp !== undefined);
    await until(async () => (await maps.find('loose')) === undefined);
    expect((await maps.get('top')).metadata.finalizers).toEqual(['foregroundDeletion']);
    expect((await maps.get('middle')).metadata.finalizers).toEqual(['foregroundDeletion']);
    await maps.patch('bottom', mergePatch({ metadata: { finalizers: null } }));
    await until(async () => (await maps.find('top')) === undefined);
    expect((await maps.list()).items.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt')).toEqual([]);
  });

  it('foreground in a ring: nobody waits for ever', async () => {
    const maps = client.resource(corev1.configMaps, await newNamespace());
    const a = await maps.create({ metadata: { name: 'a' } });
    const b = await maps.create({ metadata: { name: 'b', ownerReferences: blocking(a) } });
    await maps.patch('a', mergePatch({ metadata: { ownerReferences: blocking(b) } }));
    await maps.delete('a', { propagationPolicy: 'Foreground' });
    for (const name of ['a', 'b']) await until(async () => (await maps.find(name)) === undefined);
  });

  it("orphan: dependents stay, and are nobody's", async () => {
    const n = await newNamespace();
    const maps = client.resource(corev1.configMaps, n);
    const owner = await maps.create({ metadata: { name: 'owner' } });
    for (let i = 0; i < 5; i++) await maps.create({ metadata: { name: `d${i}`, ownerReferences: ownedBy(owner) } });
    await maps.delete('owner', { propagationPolicy: 'Orphan' });
    await until(async () => (await maps.find('owner')) === undefined);
    const left = (await maps.list()).items.filter(({ metadata }) => metadata.name.startsWith('d'));
    expect(left.map(({ metadata }) => metadata.ownerReferences)).toEqual(Array.from({ length: 5 }));
  });

  it('what carries the orphan finalizer leaves its dependents behind, though it is collected itself', async () => {
    const maps = client.resource(corev1.configMaps, await newNamespace());
    const top = await maps.create({ metadata: { name: 'top' } });
    const finalizers = ['orphan'];
    const middle = await maps.create({ metadata: { name: 'middle', ownerReferences: ownedBy(top), finalizers } });
    await maps.create({ metadata: { name: 'bottom', ownerReferences: ownedBy(middle) } });
    await maps.delete('top', { propagationPolicy: 'Background' });
    await until(async () => (await maps.find('middle')) === undefined);
    expect((await maps.get('bottom')).metadata.ownerReferences).toBeUndefined();
  });

  it('an owner of a kind in a version that is not served is kept for', async () => {
    const n = await newNamespace();
    const maps = client.resource(corev1.configMaps, n);
    const gone = { kind: 'ReplicaSet', name: 'x', uid: 'u' };
    await maps.create({ metadata: { name: 'old', ownerReferences: [{ ...gone, apiVersion: 'apps/v1beta2' }] } });
    await maps.create({
      metadata: { name: 'new', ownerReferences: [{ ...gone, apiVersion: appsv1.replicaSets.apiVersion }] },
    });
    await until(async () => (await maps.find('new')) === undefined);
    expect(await maps.find('old')).toBeDefined();
  });
});

describe('protection', () => {
  const claimSpec = { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } } };
  it('a claim that a pod with a node uses stays until that is gone; one that is not used goes', async () => {
    const n = await newNamespace();
    const claims = client.resource(corev1.persistentVolumeClaims, n);
    for (const name of ['used', 'free']) {
      await claims.create({ metadata: { name }, spec: claimSpec });
      await until(async () => (await claims.get(name)).metadata.finalizers?.join() === 'kubernetes.io/pvc-protection');
    }
    await until(async () => (await client.resource(corev1.serviceAccounts, n).find('default')) !== undefined);
    await client
      .resource(corev1.pods, n)
      .create(pod('p', [{ name: 'v', persistentVolumeClaim: { claimName: 'used' } }]));
    for (const name of ['used', 'free']) await claims.delete(name);
    await until(async () => (await claims.find('free')) === undefined);
    expect((await claims.get('used')).metadata.deletionTimestamp).toBeDefined();
    await client.resource(corev1.pods, n).delete('p', { gracePeriodSeconds: 0 });
    await until(async () => (await claims.find('used')) === undefined);
  });

  it('a volume that is bound stays until it is not', async () => {
    const volumes = client.resource(corev1.persistentVolumes);
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce' as const], hostPath: { path: '/x' } };
    await volumes.create({ metadata: { name: 'v' }, spec });
    await until(async () => (await volumes.get('v')).metadata.finalizers?.join() === 'kubernetes.io/pv-protection');
    await volumes.status.patch('v', mergePatch({ status: { phase: 'Bound' } }));
    await volumes.delete('v');
    await volumes.patch('v', mergePatch({ metadata: { labels: { seen: 'yes' } } }));
    expect((await volumes.get('v')).metadata.finalizers).toEqual(['kubernetes.io/pv-protection']);
    await volumes.status.patch('v', mergePatch({ status: { phase: 'Released' } }));
    await until(async () => (await volumes.find('v')) === undefined);
  });
});

it('of several one leads, and the next goes on when it stops', async () => {
  await using bare = await startTestServer();
  await using admin = await adminOf(bare);
  const election = { leaseDurationMs: 6000, renewDeadlineMs: 4000, retryMs: 100 };
  const options = { isElected: true, election };
  const first = startControllers(admin, { ...options, election: { ...election, identity: 'first' } });
  const holder = async () =>
    (await bare.client
      .get('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager')
      .catch(() => undefined)) as { spec?: { holderIdentity?: string } } | undefined;
  await until(async () => (await holder())?.spec?.holderIdentity === 'first');
  await using second = startControllers(admin, { ...options, election: { ...election, identity: 'second' } });
  await second.ready();
  const maps = admin.resource(corev1.configMaps, 'default');
  const stray = (name: string) => ({
    metadata: { name, ownerReferences: [{ kind: 'ConfigMap', apiVersion: 'v1', name: 'x', uid: 'u' }] },
  });
  await maps.create(stray('a'));
  await until(async () => (await maps.find('a')) === undefined);
  await first[Symbol.asyncDispose]();
  await until(async () => (await holder())?.spec?.holderIdentity === 'second');
  await maps.create(stray('b'));
  await until(async () => (await maps.find('b')) === undefined);
});

describe('a Secret for the token of an account', () => {
  it('is filled, lets its holder in as that account, and goes with it', async () => {
    const n = await newNamespace();
    const [secrets, accounts] = [client.resource(corev1.secrets, n), client.resource(corev1.serviceAccounts, n)];
    const account = await accounts.create({ metadata: { name: 'robot' } });
    const annotations = { 'kubernetes.io/service-account.name': 'robot' };
    const type = 'kubernetes.io/service-account-token';
    await secrets.create({ metadata: { name: 'token', annotations }, type });
    await until(async () => (await secrets.get('token')).data?.token !== undefined);
    const { data = {}, metadata } = await secrets.get('token');
    const text = (field: string) => Buffer.from(data[field] ?? '', 'base64').toString();
    expect(text('namespace')).toBe(n);
    expect(text('ca.crt')).toMatch(/^-----BEGIN CERTIFICATE-----/);
    expect(metadata.annotations?.['kubernetes.io/service-account.uid']).toBe(account.metadata.uid);
    const review = await server
      .connect({ token: text('token') })
      .create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
      });
    expect(review).toMatchObject({ status: { userInfo: { username: `system:serviceaccount:${n}:robot` } } });
    await secrets.patch('token', mergePatch({ data: { token: null } }));
    await until(async () => (await secrets.get('token')).data?.token !== undefined);
    await accounts.delete('robot');
    await until(async () => (await secrets.find('token')) === undefined);
  });
});

it('nothing went wrong on the way', () => {
  expect(server.logged).toEqual([]);
});
