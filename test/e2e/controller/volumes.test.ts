/** Claims and volumes: who gets which, what is made for whom where nodes are only pretended, and what becomes of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appsv1, corev1, type KubeClient, mergePatch, storagev1 } from '../../../src/client/index.ts';
import { startControllers } from '../../../src/controllers/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';

const BOUND = 'pv.kubernetes.io/bind-completed';
const OURS = 'pv.kubernetes.io/bound-by-controller';
const SELECTED = 'volume.kubernetes.io/selected-node';
const PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
const claimOf = (name: string, more: Partial<corev1.PersistentVolumeClaimSpec> = {}) => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } }, ...more },
});
const volumeOf = (name: string, more: Partial<corev1.PersistentVolumeSpec> = {}) => ({
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce' as const],
    capacity: { storage: '2Gi' },
    hostPath: { path: `/data/${name}` },
    ...more,
  },
});
const podOf = (name: string, claimName: string) => ({
  metadata: { name },
  spec: {
    containers: [{ name: 'c', image: 'example.com/c:1' }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    terminationGracePeriodSeconds: 0,
  },
});

function roomOf(client: KubeClient, namespace: string) {
  const claims = client.resource(corev1.persistentVolumeClaims, namespace);
  const volumes = client.resource(corev1.persistentVolumes);
  return {
    ...{ namespace, claims, volumes },
    pods: client.resource(corev1.pods, namespace),
    isClaim: (name: string, phase: string) => until(async () => (await claims.get(name)).status?.phase === phase),
    isVolume: (name: string, phase: string) => until(async () => (await volumes.find(name))?.status?.phase === phase),
    isGone: (name: string) => until(async () => (await volumes.find(name)) === undefined),
    /** Of claims here; volumes are in no namespace. */
    told: (name: string, text: string, of = namespace) =>
      until(async () => {
        const { items } = await client.resource(corev1.events, of).list();
        return items.some(
          ({ involvedObject, type, reason, message }) =>
            involvedObject.name === name && `${type} ${reason} ${message}`.startsWith(text),
        );
      }),
  };
}

let count = 0;
async function newRoom(client: KubeClient) {
  const name = `ns-${count++}`;
  await client.resource(corev1.namespaces).create({ metadata: { name } });
  return { ...roomOf(client, name), className: `class-${name}` };
}

describe('on nodes that are not pretended', () => {
  let server: TestServer;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startTestServer({ controllers: ['*'] });
    client = await adminOf(server);
  });
  afterAll(async () => {
    await client?.close();
    await server?.[Symbol.asyncDispose]();
  });

  it('a claim and a volume find each other, whichever comes first', async () => {
    const { claims, volumes, isClaim, isVolume, className } = await newRoom(client);
    await claims.create(claimOf('early', { storageClassName: className }));
    await volumes.create(volumeOf(`${className}-a`, { storageClassName: className }));
    await isClaim('early', 'Bound');
    await volumes.create(volumeOf(`${className}-b`, { storageClassName: className }));
    await isVolume(`${className}-b`, 'Available');
    await claims.create(claimOf('late', { storageClassName: className }));
    await isClaim('late', 'Bound');
    await isVolume(`${className}-b`, 'Bound');
    const [claim, volume] = [await claims.get('early'), await volumes.get(`${className}-a`)];
    expect(claim).toMatchObject({
      metadata: { annotations: { [BOUND]: 'yes', [OURS]: 'yes' } },
      spec: { volumeName: `${className}-a` },
      status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } },
    });
    expect(volume).toMatchObject({
      metadata: { annotations: { [OURS]: 'yes' } },
      spec: { claimRef: { kind: 'PersistentVolumeClaim', name: 'early', uid: claim.metadata.uid } },
      status: { phase: 'Bound' },
    });
    expect(volume.spec.claimRef?.resourceVersion).toMatch(/^\d+$/);
  });

  it('of many claims each gets a volume of its own', async () => {
    const { claims, volumes, className } = await newRoom(client);
    const names = Array.from({ length: 12 }, (_, i) => `${className}-${i}`);
    await Promise.all([
      ...names.map((name) => volumes.create(volumeOf(name, { storageClassName: className }))),
      ...names.map((_, i) => claims.create(claimOf(`c${i}`, { storageClassName: className }))),
    ]);
    const bound = async () => (await claims.list()).items.filter(({ status }) => status?.phase === 'Bound');
    await until(async () => (await bound()).length === names.length);
    const pairs = new Map((await bound()).map(({ metadata, spec }) => [spec.volumeName!, metadata.uid]));
    expect([...pairs.keys()].sort()).toEqual([...names].sort());
    for (const name of names) expect((await volumes.get(name)).spec.claimRef?.uid).toBe(pairs.get(name));
  });

  it('what is asked for by name is had, if it fits and nobody else has it', async () => {
    const { claims, volumes, namespace, isClaim, isVolume, told } = await newRoom(client);
    const name = `asked-${namespace}`;
    await claims.create(claimOf('first', { storageClassName: '', volumeName: name }));
    await volumes.create(volumeOf(name, { claimRef: { namespace, name: 'first' } }));
    await isClaim('first', 'Bound');
    expect((await claims.get('first')).metadata.annotations?.[OURS]).toBeUndefined();
    const { metadata, spec } = await volumes.get(name);
    expect(metadata.annotations?.[OURS]).toBeUndefined();
    expect(spec.claimRef?.uid).toBe((await claims.get('first')).metadata.uid);
    await claims.create(claimOf('second', { storageClassName: '', volumeName: name }));
    await told('second', `Warning FailedBinding volume "${name}" already bound to a different claim.`);
    await volumes.create(volumeOf(`${name}-small`, { capacity: { storage: '1Mi' }, storageClassName: 'x' }));
    await isVolume(`${name}-small`, 'Available');
    await claims.create(claimOf('third', { storageClassName: '', volumeName: `${name}-small` }));
    const why = 'requested PV is too small';
    await told('third', `Warning VolumeMismatch Cannot bind to requested volume "${name}-small": ${why}`);
    for (const one of ['second', 'third']) expect((await claims.get(one)).status?.phase).toBe('Pending');
  });

  it('a claim without a class is told why it waits, and gets the class that becomes the default', async () => {
    const { claims, className, told } = await newRoom(client);
    await claims.create(claimOf('c'));
    const why = 'no persistent volumes available for this claim and no storage class is set';
    await told('c', `Normal FailedBinding ${why}`);
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    const classes = client.resource(storagev1.storageClasses);
    await classes.create({ metadata: { name: className, annotations }, provisioner: 'example.com/disks' });
    await told(
      'c',
      "Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'example.com/disks'",
    );
    const { metadata, spec } = await claims.get('c');
    expect(spec.storageClassName).toBe(className);
    expect(metadata.annotations).toMatchObject({ [PROVISIONER]: 'example.com/disks' });
    expect(metadata.annotations).toMatchObject({
      'volume.beta.kubernetes.io/storage-provisioner': 'example.com/disks',
    });
    await classes.delete(className);
  });

  it('a class that is not there, or that nobody provisions, is told', async () => {
    const { claims, className, told } = await newRoom(client);
    await claims.create(claimOf('c', { storageClassName: className }));
    await told('c', `Warning ProvisioningFailed storageclass.storage.k8s.io "${className}" not found`);
    const provisioner = 'kubernetes.io/no-provisioner';
    await client.resource(storagev1.storageClasses).create({ metadata: { name: className }, provisioner });
    await told('c', `Warning ProvisioningFailed no volume plugin matched name: ${provisioner}`);
    expect((await claims.get('c')).metadata.annotations?.[PROVISIONER]).toBeUndefined();
  });

  it('a claim that waits for its consumer is left until the scheduler has said for which node', async () => {
    const { claims, pods, volumes, isClaim, className, told } = await newRoom(client);
    const volumeBindingMode = 'WaitForFirstConsumer' as const;
    await client
      .resource(storagev1.storageClasses)
      .create({ metadata: { name: className }, provisioner: 'example.com/disks', volumeBindingMode });
    await claims.create(claimOf('c', { storageClassName: className }));
    await told('c', 'Normal WaitForFirstConsumer waiting for first consumer to be created before binding');
    await pods.create(podOf('p', 'c'));
    await told('c', 'Normal WaitForPodScheduled waiting for pod p to be scheduled');
    await volumes.create(volumeOf(className, { storageClassName: className }));
    await until(async () => (await volumes.get(className)).status?.phase === 'Available');
    expect((await claims.get('c')).status?.phase).toBe('Pending');
    await claims.patch('c', mergePatch({ metadata: { annotations: { [SELECTED]: 'n' } } }));
    await isClaim('c', 'Bound');
  });

  it('a volume outlives its claim as its policy says, and stays with its maker', async () => {
    const { claims, volumes, isClaim, isVolume, className, told } = await newRoom(client);
    const policies = { keep: 'Retain', wash: 'Recycle', drop: 'Delete', leave: 'Delete' } as const;
    const want = { keep: 'Released', wash: 'Failed', drop: 'Failed', leave: 'Released' };
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'example.com/disks' };
    for (const [name, persistentVolumeReclaimPolicy] of Object.entries(policies)) {
      const spec = { storageClassName: '', persistentVolumeReclaimPolicy };
      const draft = volumeOf(`${className}-${name}`, spec);
      const metadata = { ...draft.metadata, ...(name === 'leave' && { annotations }) };
      await volumes.create({ ...draft, metadata });
      await claims.create(claimOf(name, { storageClassName: '', volumeName: metadata.name }));
      await isClaim(name, 'Bound');
    }
    for (const name of Object.keys(policies)) await claims.delete(name);
    for (const [name, phase] of Object.entries(want)) await isVolume(`${className}-${name}`, phase);
    await told(`${className}-wash`, 'Warning VolumeFailedRecycle No recycler plugin found', 'default');
    await told(`${className}-drop`, 'Warning VolumeFailedDelete error getting deleter volume plugin', 'default');
    // Who wants it next does not get it: what is on it is another's.
    await claims.create(claimOf('keep', { storageClassName: '', volumeName: `${className}-keep` }));
    await told('keep', `Warning FailedBinding volume "${className}-keep" already bound to a different claim.`);
  });

  it('a claim whose volume goes is lost', async () => {
    const { claims, volumes, isClaim, className, told } = await newRoom(client);
    await volumes.create(volumeOf(className, { storageClassName: className }));
    await claims.create(claimOf('c', { storageClassName: className }));
    await isClaim('c', 'Bound');
    await volumes.delete(className);
    expect((await volumes.get(className)).metadata.deletionTimestamp).toBeDefined(); // it is in use
    await volumes.patch(className, mergePatch({ metadata: { finalizers: null } }));
    await isClaim('c', 'Lost');
    await told('c', 'Warning ClaimLost Bound claim has lost its PersistentVolume. Data on the volume is lost!');
    expect((await claims.get('c')).status?.capacity).toBeUndefined();
  });

  it('a claim that says it is bound, and is not, is lost', async () => {
    const { claims, volumes, isClaim, className, told } = await newRoom(client);
    const storageClassName = className;
    await volumes.create(volumeOf(className, { storageClassName }));
    await claims.create(claimOf('first', { storageClassName }));
    await isClaim('first', 'Bound');
    const saysBound = (name: string, volumeName?: string) => ({
      ...claimOf(name, { storageClassName, ...(volumeName && { volumeName }) }),
      metadata: { name, annotations: { [BOUND]: 'yes' } },
    });
    await claims.create(saysBound('second', className));
    await told('second', 'Warning ClaimMisbound Two claims are bound to the same volume');
    await claims.create(saysBound('none'));
    await told('none', 'Warning ClaimLost Bound claim has lost reference to PersistentVolume.');
    for (const name of ['second', 'none']) expect((await claims.get(name)).status?.phase).toBe('Lost');
    expect((await claims.get('first')).status?.phase).toBe('Bound');
  });
});

it('whoever comes after a controller that ended halfway goes on from there', async () => {
  await using server = await startTestServer({ controllers: ['-*'] });
  await using client = await adminOf(server);
  const { claims, volumes, isClaim, isVolume } = roomOf(client, 'default');
  const made = async (name: string) => ({
    claim: await claims.create(claimOf(name, { storageClassName: name })),
    volume: await volumes.create(volumeOf(name, { storageClassName: name })),
  });
  // After the first write, after the third, and after the first of two volumes for one claim.
  const [first, third, two] = [await made('first'), await made('third'), await made('two')];
  const spare = await volumes.create(volumeOf('spare', { storageClassName: 'two' }));
  const name = async (volume: corev1.PersistentVolume, { metadata }: corev1.PersistentVolumeClaim) =>
    volumes.update({
      ...volume,
      metadata: { ...volume.metadata, annotations: { [OURS]: 'yes' } },
      spec: { ...volume.spec, claimRef: { namespace: 'default', name: metadata.name, uid: metadata.uid } },
    });
  for (const { volume, claim } of [first, third, two]) await name(volume, claim);
  await name(spare, two.claim);
  const annotations = { [OURS]: 'yes', [BOUND]: 'yes' };
  await claims.update({
    ...third.claim,
    metadata: { ...third.claim.metadata, annotations },
    spec: { ...third.claim.spec, volumeName: 'third' },
  });
  await using _running = startControllers(client, { controllers: ['persistentvolume-binder-controller'] });
  for (const one of ['first', 'third', 'two']) await isClaim(one, 'Bound');
  const { volumeName } = (await claims.get('two')).spec;
  const other = volumeName === 'two' ? 'spare' : 'two';
  await isVolume(other, 'Available');
  expect((await volumes.get(other)).spec.claimRef).toBeUndefined();
  for (const one of ['first', 'third', volumeName!]) await isVolume(one, 'Bound');
});

describe('on nodes that are pretended', () => {
  let server: TestServer;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startTestServer({ controllers: ['*'], pretendNodes: 2 });
    client = await adminOf(server);
  });
  afterAll(async () => {
    await client?.close();
    await server?.[Symbol.asyncDispose]();
  });
  const newClass = (name: string, more: Partial<storagev1.StorageClass> = {}) =>
    client.resource(storagev1.storageClasses).create({ provisioner: 'example.com/disks', ...more, metadata: { name } });

  it('a StatefulSet with claims becomes ready, and what was made for it goes with them', async () => {
    const { claims, volumes, namespace, className, isGone, told } = await newRoom(client);
    await newClass(className, { volumeBindingMode: 'WaitForFirstConsumer' });
    const labels = { app: 'db' };
    const sets = client.resource(appsv1.statefulSets, namespace);
    await sets.create({
      metadata: { name: 'db' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
        template: {
          metadata: { labels },
          spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'db', image: 'example.com/db:1' }] },
        },
        volumeClaimTemplates: [claimOf('data', { storageClassName: className })],
      },
    });
    await until(async () => (await sets.get('db')).status?.readyReplicas === 2);
    const phases = async () => (await claims.list()).items.map(({ status }) => status?.phase).join();
    await until(async () => (await phases()) === 'Bound,Bound');
    const [claim, other] = (await claims.list()).items;
    const name = `pvc-${claim!.metadata.uid}`;
    await told(
      'data-db-0',
      `Normal ProvisioningSucceeded Successfully provisioned volume ${name} using example.com/disks`,
    );
    expect(await volumes.get(name)).toMatchObject({
      metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': 'example.com/disks' } },
      spec: {
        capacity: { storage: '1Gi' },
        claimRef: { namespace, name: 'data-db-0', uid: claim!.metadata.uid },
        hostPath: { path: `/pretended/${name}` },
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: className,
      },
    });
    await sets.delete('db');
    await until(async () => (await claims.list()).items.length === 0);
    await isGone(name);
    await isGone(`pvc-${other!.metadata.uid}`);
  });

  it('a claim is made a volume at once, which stays if its class says so', async () => {
    const { claims, volumes, className, isClaim, isVolume } = await newRoom(client);
    await newClass(className, { reclaimPolicy: 'Retain', mountOptions: ['ro'] });
    await claims.create(claimOf('c', { storageClassName: className, volumeMode: 'Block' }));
    await isClaim('c', 'Bound');
    const { metadata, spec } = await claims.get('c');
    expect(spec.volumeName).toBe(`pvc-${metadata.uid}`);
    expect((await volumes.get(spec.volumeName!)).spec).toMatchObject({ volumeMode: 'Block', mountOptions: ['ro'] });
    await claims.delete('c');
    await isVolume(spec.volumeName!, 'Released');
  });

  it('the scheduler says for which node, and does not wait', async () => {
    const { claims, pods, className, isClaim, told } = await newRoom(client);
    await newClass(className, { volumeBindingMode: 'WaitForFirstConsumer' });
    await claims.create(claimOf('c', { storageClassName: className }));
    await told('c', 'Normal WaitForFirstConsumer');
    await pods.create(podOf('p', 'c'));
    await isClaim('c', 'Bound');
    const { nodeName } = (await pods.get('p')).spec;
    expect((await claims.get('c')).metadata.annotations?.[SELECTED]).toBe(nodeName);
    // A Pod may have its node before its claim is there.
    await pods.create(podOf('q', 'later'));
    await until(async () => Boolean((await pods.get('q')).spec.nodeName));
    await claims.create(claimOf('later', { storageClassName: className }));
    await isClaim('later', 'Bound');
  });

  it('nothing is made for a class that nobody provisions, or a claim that selects', async () => {
    const { claims, className, told } = await newRoom(client);
    await newClass(className);
    await newClass(`${className}-none`, { provisioner: 'kubernetes.io/no-provisioner' });
    await claims.create(claimOf('none', { storageClassName: `${className}-none` }));
    await told('none', 'Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner');
    const selector = { matchLabels: { tier: 'a' } };
    await claims.create(claimOf('selects', { storageClassName: className, selector }));
    await told('selects', 'Warning ProvisioningFailed claim Selector is not supported');
    for (const name of ['none', 'selects']) expect((await claims.get(name)).status?.phase).toBe('Pending');
  });

  it('writes nothing that its role forbids', () => expect(server.logged).toEqual([]));
});
