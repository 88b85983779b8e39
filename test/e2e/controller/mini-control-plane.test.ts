/** All controllers with pretended nodes, on a server in this process, with a real kubectl: what people will type. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiextensionsv1, connect, corev1, defineResource, type KubeClient } from 'longwatch/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Controllers, startControllers } from '../../../src/controllers/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { Kubectl, kubectls } from '../cli/kubectl.ts';

const [newest] = kubectls();
const all = { controllers: ['*'], pretendNodes: 3, startMs: 20, stopMs: 20 };
const IMAGE = 'example.com/web:1';

let server: TestServer;
let client: KubeClient;
let plane: Controllers;
let home: string;
let count = 0;
const problems: string[] = [];
const onError = (message: string) => void problems.push(message);
const onWarning = (warning: Error) => void problems.push(warning.stack ?? String(warning));

beforeAll(async () => {
  process.on('warning', onWarning);
  home = mkdtempSync(join(tmpdir(), 'longwatch-control-plane-'));
  server = await startTestServer();
  client = await connect({ paths: [server.kubeconfigPath] });
  plane = startControllers(client, { ...all, onError });
  await plane.ready();
});
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]();
  await client?.close();
  await server?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
  process.off('warning', onWarning);
});

async function newNamespace(): Promise<string> {
  const name = `ns-${count++}`;
  await server.client.create('/api/v1/namespaces', { metadata: { name } });
  return name;
}

const pathOf = (namespace: string, plural: string) =>
  `${['deployments', 'replicasets'].includes(plural) ? '/apis/apps/v1' : '/api/v1'}/namespaces/${namespace}/${plural}`;
const namesOf = async (namespace: string, plural: string) =>
  (await server.client.list(pathOf(namespace, plural))).items.map(({ metadata }) => metadata.name);
const isEmpty = async (namespace: string, ...plurals: string[]) =>
  (await Promise.all(plurals.map((plural) => namesOf(namespace, plural)))).flat().length === 0;

describe.skipIf(!newest)('kubectl', () => {
  let kubectl: Kubectl;
  beforeAll(() => {
    kubectl = new Kubectl(newest!.path, server.kubeconfigPath, home);
  });
  const createWeb = async (replicas = 3) => {
    const n = await newNamespace();
    await kubectl.run('create', 'deployment', 'web', '-n', n, `--image=${IMAGE}`, `--replicas=${replicas}`);
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    return n;
  };
  const get = (n: string, what: string, path: string) =>
    kubectl.run('get', '-n', n, ...what.split(' '), '-o', `jsonpath=${path}`);

  it('create deployment: pods appear, run, and have addresses of their own', async () => {
    const n = await newNamespace();
    await kubectl.run('run', 'alone', '-n', n, `--image=${IMAGE}`);
    await using watching = kubectl.start('get', 'pods', '-w', '-n', n);
    await watching.until(/alone/); // it is connected
    await kubectl.run('create', 'deployment', 'web', '-n', n, `--image=${IMAGE}`, '--replicas=3');
    await watching.until(/web-\S+ +0\/1 +Pending[\s\S]*web-\S+ +0\/1 +ContainerCreating[\s\S]*web-\S+ +1\/1 +Running/);
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    expect(await get(n, 'pods', '{.items[*].status.phase}')).toBe('Running Running Running Running');
    expect(new Set((await get(n, 'pods', '{.items[*].status.podIP}')).split(' ')).size).toBe(4);
    expect(await kubectl.run('get', 'deployment', 'web', '-n', n)).toMatch(/web +3\/3 +3 +3/);
    const pod = (await namesOf(n, 'pods')).find((name) => name !== 'alone');
    await until(async () =>
      /Scheduled .* assigned .* to node-\d/.test(await kubectl.run('describe', 'pod', pod!, '-n', n)),
    );
  });

  it('scale: up and down', async () => {
    const n = await createWeb();
    await kubectl.run('scale', 'deployment/web', '-n', n, '--replicas=5');
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    expect(await get(n, 'deployment web', '{.status.availableReplicas}')).toBe('5');
    await kubectl.run('scale', 'deployment/web', '-n', n, '--replicas=1');
    await until(async () => (await get(n, 'deployment web', '{.status.availableReplicas}')) === '1');
    await until(async () => (await namesOf(n, 'pods')).length === 1);
  });

  it('set image, rollout history, undo: a replica set for each template, and back to the first', async () => {
    const n = await createWeb();
    const [first] = await namesOf(n, 'replicasets');
    await kubectl.run('set', 'image', 'deployment/web', '-n', n, 'web=example.com/web:2');
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    expect(new Set((await get(n, 'pods', '{.items[*].spec.containers[0].image}')).split(' '))).toContain(
      'example.com/web:2',
    );
    expect(await kubectl.run('rollout', 'history', 'deployment/web', '-n', n)).toMatch(/\n1 [\s\S]*\n2 /);
    await kubectl.run('rollout', 'undo', 'deployment/web', '-n', n);
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    expect(await get(n, `replicaset ${first}`, '{.status.availableReplicas}')).toBe('3');
    expect(await namesOf(n, 'replicasets')).toHaveLength(2);
    expect(await kubectl.run('rollout', 'history', 'deployment/web', '-n', n)).toMatch(/\n2 [\s\S]*\n3 /);
  });

  it('rollout restart replaces every pod; pause holds a change back until resume', async () => {
    const n = await createWeb(2);
    const before = await namesOf(n, 'pods');
    await kubectl.run('rollout', 'restart', 'deployment/web', '-n', n);
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    await until(async () => (await namesOf(n, 'pods')).every((name) => !before.includes(name)));
    await kubectl.run('rollout', 'pause', 'deployment/web', '-n', n);
    await kubectl.run('set', 'image', 'deployment/web', '-n', n, 'web=example.com/web:3');
    await until(
      async () =>
        (await get(n, 'deployment web', '{.status.observedGeneration}')) ===
        (await get(n, 'deployment web', '{.metadata.generation}')),
    );
    expect(await namesOf(n, 'replicasets')).toHaveLength(2);
    await kubectl.run('rollout', 'resume', 'deployment/web', '-n', n);
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    expect(await namesOf(n, 'replicasets')).toHaveLength(3);
  });

  it('an image that cannot be pulled leaves the old pods alone', async () => {
    const n = await createWeb(3);
    await kubectl.run('set', 'image', 'deployment/web', '-n', n, 'web=example.com/web:broken');
    await until(async () => (await kubectl.run('get', 'pods', '-n', n)).includes('ImagePullBackOff'));
    expect((await kubectl.try(['rollout', 'status', 'deployment/web', '-n', n, '--timeout=500ms'])).code).not.toBe(0);
    expect(await get(n, 'deployment web', '{.status.availableReplicas}')).toBe('3');
    await kubectl.run('rollout', 'undo', 'deployment/web', '-n', n);
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    await until(async () => (await namesOf(n, 'pods')).length === 3);
  });

  it('delete: replica sets and pods follow', async () => {
    const n = await createWeb();
    await kubectl.run('delete', 'deployment', 'web', '-n', n);
    await until(() => isEmpty(n, 'replicasets', 'pods'));
  });

  it('delete --cascade=foreground returns when everything is gone', async () => {
    const n = await createWeb();
    await kubectl.run('delete', 'deployment', 'web', '-n', n, '--cascade=foreground');
    expect(await isEmpty(n, 'deployments', 'replicasets', 'pods')).toBe(true);
  });

  it('delete --cascade=orphan leaves the rest, and a new deployment takes it over', async () => {
    const n = await createWeb();
    const before = await namesOf(n, 'pods');
    await kubectl.run('delete', 'deployment', 'web', '-n', n, '--cascade=orphan');
    expect(await get(n, 'replicasets', '{.items[*].metadata.ownerReferences}')).toBe('');
    await kubectl.run('create', 'deployment', 'web', '-n', n, `--image=${IMAGE}`, '--replicas=3');
    await kubectl.run('rollout', 'status', 'deployment/web', '-n', n, '--timeout=20s');
    expect(await namesOf(n, 'pods')).toEqual(before);
  });

  it('a pod that is deleted is replaced; one without an owner is taken over and counted', async () => {
    const n = await createWeb(2);
    const [victim] = await namesOf(n, 'pods');
    await kubectl.run('delete', 'pod', victim!, '-n', n);
    await until(async () => (await get(n, 'deployment web', '{.status.availableReplicas}')) === '2');
    const hash = await get(n, 'replicasets', '{.items[0].metadata.labels.pod-template-hash}');
    await kubectl.run('run', 'stray', '-n', n, `--image=${IMAGE}`, `--labels=app=web,pod-template-hash=${hash}`);
    await until(async () => (await namesOf(n, 'pods')).length === 2); // one too many: the youngest goes
  });

  it('get nodes: they look like nodes, and Pods that select by system and architecture find them', async () => {
    const row = (await kubectl.run('get', 'nodes', '-o', 'wide'))
      .split('\n')
      .find((line) => line.startsWith('node-2'))!;
    expect(row.split(/\s+/)).toEqual(expect.arrayContaining(['Ready', 'v1.36.4', '10.63.0.2', 'pretended://0']));
    const n = await newNamespace();
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    const nodeSelector = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': arch };
    await kubectl.run(
      'run',
      'app',
      '-n',
      n,
      `--image=${IMAGE}`,
      `--overrides=${JSON.stringify({ spec: { nodeSelector } })}`,
    );
    await kubectl.run('wait', '-n', n, '--for=condition=Ready', 'pod/app', '--timeout=20s');
    expect(await get(n, 'pod app', '{.status.hostIP} {.status.hostIPs[0].ip}')).toMatch(/^(10\.63\.0\.[123]) \1$/);
  });

  it('cordon: nothing new goes there; a pod that fits nowhere waits, and says why', async () => {
    await kubectl.run('cordon', 'node-1');
    const n = await createWeb(4);
    expect((await get(n, 'pods', '{.items[*].spec.nodeName}')).split(' ')).not.toContain('node-1');
    await kubectl.run('uncordon', 'node-1');
    await kubectl.run(
      'run',
      'picky',
      '-n',
      n,
      `--image=${IMAGE}`,
      '--overrides={"spec":{"nodeSelector":{"disk":"ssd"}}}',
    );
    const why =
      "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. " +
      'preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.';
    await until(async () => (await kubectl.run('describe', 'pod', 'picky', '-n', n)).includes(why));
    const condition = '{.status.conditions[?(@.type=="PodScheduled")]';
    await until(async () => (await get(n, 'pod picky', `${condition}.reason}`)) === 'Unschedulable');
    expect(await get(n, 'pod picky', `${condition}.message}`)).toBe(why);
    await kubectl.run('label', 'node', 'node-2', 'disk=ssd');
    await kubectl.run('wait', '-n', n, '--for=condition=Ready', 'pod/picky', '--timeout=20s');
  });

  it('what goes before a container is done, and what runs beside it counts as ready', async () => {
    const n = await newNamespace();
    const initContainers = [
      { name: 'first', image: IMAGE },
      { name: 'beside', image: IMAGE, restartPolicy: 'Always' },
    ];
    const overrides = JSON.stringify({ spec: { initContainers, containers: [{ name: 'app', image: IMAGE }] } });
    await kubectl.run('run', 'app', '-n', n, `--image=${IMAGE}`, `--overrides=${overrides}`);
    await kubectl.run('wait', '-n', n, '--for=condition=Ready', 'pod/app', '--timeout=20s');
    expect(await kubectl.run('get', 'pods', '-n', n)).toMatch(/^app +2\/2 +Running /m);
    const reason = '{.status.initContainerStatuses[0].state.terminated.reason}';
    expect(await get(n, 'pod app', reason)).toBe('Completed');
  });

  it('a pod of another scheduler, or with gates, is left alone', async () => {
    const n = await newNamespace();
    const run = (name: string, spec: object) =>
      kubectl.run('run', name, '-n', n, `--image=${IMAGE}`, `--overrides=${JSON.stringify({ spec })}`);
    await run('theirs', { schedulerName: 'mine' });
    await run('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
    await run('ours', {});
    await kubectl.run('wait', '-n', n, '--for=condition=Ready', 'pod/ours', '--timeout=20s');
    expect(await get(n, 'pod theirs', '{.spec.nodeName}')).toBe('');
    expect(await get(n, 'pod gated', '{.spec.nodeName}')).toBe('');
    const open = JSON.stringify({ spec: { schedulingGates: null } });
    await kubectl.run('patch', 'pod', 'gated', '-n', n, '--type=merge', '-p', open);
    await kubectl.run('wait', '-n', n, '--for=condition=Ready', 'pod/gated', '--timeout=20s');
  });

  it('delete namespace: returns when it is gone, with everything in it', async () => {
    const n = await createWeb();
    await kubectl.run('create', 'configmap', 'lamp', '-n', n, '--from-literal=state=on');
    await kubectl.run('delete', 'namespace', n);
    await expect(server.client.get(`/api/v1/namespaces/${n}`)).rejects.toThrow(/not found/);
    expect(await isEmpty(n, 'deployments', 'replicasets', 'pods', 'configmaps')).toBe(true);
  });
});

describe('garbage collection', () => {
  const ownedBy = (...owners: { kind: string; apiVersion: string; metadata: { name: string; uid: string } }[]) =>
    owners.map(({ kind, apiVersion, metadata: { name, uid } }) => ({ kind, apiVersion, name, uid }));

  it('of kinds that were defined after it began', async () => {
    const n = await newNamespace();
    const group = `${n}.example.com`;
    const lamps = defineResource({ group, version: 'v1', plural: 'lamps', kind: 'Lamp', isNamespaced: true });
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await client.resource(apiextensionsv1.customResourceDefinitions).create({
      metadata: { name: `lamps.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'lamps', kind: 'Lamp' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await until(async () => (await client.discovery.resources(0)).some((kind) => kind.group === group));
    const lamp = await client.resource(lamps, n).create({ metadata: { name: 'desk' }, spec: {} });
    const bulb = await client
      .resource(lamps, n)
      .create({ metadata: { name: 'bulb', ownerReferences: ownedBy(lamp) }, spec: {} });
    await client.resource(corev1.configMaps, n).create({ metadata: { name: 'light', ownerReferences: ownedBy(bulb) } });
    await client.resource(lamps, n).delete('desk', { propagationPolicy: 'Foreground' });
    await until(async () => (await client.resource(corev1.configMaps, n).find('light')) === undefined);
    await until(async () => (await client.resource(lamps, n).list()).items.length === 0);

    // The kind goes again, and everything else is collected as before.
    await client.resource(apiextensionsv1.customResourceDefinitions).delete(`lamps.${group}`);
    const gone = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'gone', uid: 'nobody' } };
    await client.resource(corev1.configMaps, n).create({ metadata: { name: 'stray', ownerReferences: ownedBy(gone) } });
    await until(async () => (await client.resource(corev1.configMaps, n).find('stray')) === undefined);
  });

  it('takes what never had an owner, keeps what has another, and leaves alone what it does not understand', async () => {
    const maps = client.resource(corev1.configMaps, await newNamespace());
    const [first, second] = [
      await maps.create({ metadata: { name: 'first' } }),
      await maps.create({ metadata: { name: 'second' } }),
    ];
    const nobody = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'first', uid: 'another-uid' } };
    const unknown = { kind: 'Mystery', apiVersion: 'example.com/v1', metadata: { name: 'x', uid: 'y' } };
    await maps.create({ metadata: { name: 'mystery', ownerReferences: ownedBy(unknown) } });
    await maps.create({ metadata: { name: 'both', ownerReferences: ownedBy(first, second) } });
    await maps.create({ metadata: { name: 'stray', ownerReferences: ownedBy(nobody) } });
    await until(async () => (await maps.find('stray')) === undefined);
    await maps.delete('first');
    await until(async () => (await maps.get('both')).metadata.ownerReferences?.length === 1);
    await maps.delete('second');
    await until(async () => (await maps.find('both')) === undefined);
    expect((await maps.list()).items.map(({ metadata }) => metadata.name)).toEqual(['mystery']);
  });
});

it('a control plane that takes over in the middle of a rollout brings it to its end', async () => {
  const n = await newNamespace();
  const deployment = (image: string) => ({
    metadata: { name: 'web' },
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } },
    },
  });
  const path = `${pathOf(n, 'deployments')}/web`;
  const isComplete = async () => {
    const { status, metadata } = (await server.client.get(path)) as unknown as {
      status?: Record<string, number>;
      metadata: { generation: number };
    };
    const { observedGeneration, updatedReplicas, availableReplicas, replicas } = status ?? {};
    return (
      observedGeneration === metadata.generation &&
      [updatedReplicas, availableReplicas, replicas].every((is) => is === 4)
    );
  };
  await server.client.create(pathOf(n, 'deployments'), deployment(IMAGE));
  await until(isComplete);
  await server.client.patch(path, deployment('example.com/web:2'));
  await until(async () => (await namesOf(n, 'replicasets')).length === 2);
  await plane[Symbol.asyncDispose]();
  expect(await isComplete()).toBe(false);
  plane = startControllers(client, { ...all, onError });
  await plane.ready();
  await until(isComplete);
});

it('a cluster with nodes of its own is refused', async () => {
  await using other = await startTestServer();
  await using real = await connect({ paths: [other.kubeconfigPath] });
  await other.client.create('/api/v1/nodes', { metadata: { name: 'real' } });
  await using refused = startControllers(real, all);
  await expect(refused.ready()).rejects.toThrow('node "real" is real');
});

it('nothing went wrong on the way', () => {
  expect(problems).toEqual([]);
});
