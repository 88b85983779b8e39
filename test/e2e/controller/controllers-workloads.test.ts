/** What makes Pods, beside a server in this process with two pretended nodes: each comes to what is wished for. */
import { describe, expect, it } from 'vitest';
import { appsv1, batchv1, corev1, discoveryv1, isApiError, mergePatch, policyv1 } from '../../../src/client/index.ts';
import { until } from '../../support/client/client-under-test.ts';
import { pretendedCluster } from '../../support/client/pretended-cluster.ts';

const { client, newNamespace, server } = await pretendedCluster(2);

const labels = { app: 'x' };
const template = (image = 'example.com/x:1', more: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'x', image, ports: [{ name: 'web', containerPort: 8080 }] }], ...more },
});
const podsIn = async (namespace: string) => (await client.resource(corev1.pods, namespace).list()).items;
const namesIn = async (namespace: string) => (await podsIn(namespace)).map(({ metadata }) => metadata.name).sort();

describe('a job', () => {
  const job = (name: string, spec: object, command?: string[]) => ({
    metadata: { name },
    spec: {
      ...spec,
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never' as const,
          containers: [{ name: 'x', image: 'example.com/x:1', ...(command && { command }) }],
        },
      },
    },
  });
  const until_ = async (namespace: string, name: string, type: string) => {
    const jobs = client.resource(batchv1.jobs, namespace);
    await until(async () =>
      ((await jobs.get(name)).status?.conditions ?? []).some((one) => one.type === type && one.status === 'True'),
    );
    return jobs.get(name);
  };

  it('is complete when so many have succeeded, and its pods are free to go', async () => {
    const n = await newNamespace();
    await client.resource(batchv1.jobs, n).create(job('j', { completions: 3, parallelism: 2 }));
    const { status } = await until_(n, 'j', 'Complete');
    expect(status).toMatchObject({ succeeded: 3 });
    expect(status?.completionTime).toBeDefined();
    await until(async () => (await podsIn(n)).every(({ metadata }) => metadata.finalizers === undefined));
    expect((await podsIn(n)).length).toBe(3);
  });

  it('with indexes gives each once', async () => {
    const n = await newNamespace();
    await client
      .resource(batchv1.jobs, n)
      .create(job('j', { completions: 3, parallelism: 3, completionMode: 'Indexed' }));
    expect((await until_(n, 'j', 'Complete')).status?.completedIndexes).toBe('0-2');
  });

  it('has failed when too many have', async () => {
    const n = await newNamespace();
    await client.resource(batchv1.jobs, n).create(job('j', { backoffLimit: 0 }, ['false']));
    const { status } = await until_(n, 'j', 'Failed');
    expect(status?.conditions?.find(({ type }) => type === 'Failed')?.reason).toBe('BackoffLimitExceeded');
    expect(status).toMatchObject({ failed: 1 });
  });

  it('whose time is over leaves none of its pods behind', async () => {
    const n = await newNamespace();
    const { spec, ...rest } = job('j', { activeDeadlineSeconds: 1, parallelism: 2 }, ['false']);
    const pod = { ...spec.template.spec, restartPolicy: 'OnFailure' as const, terminationGracePeriodSeconds: 0 };
    await client
      .resource(batchv1.jobs, n)
      .create({ ...rest, spec: { ...spec, template: { ...spec.template, spec: pod } } });
    const { status } = await until_(n, 'j', 'Failed');
    expect(status?.conditions?.find(({ type }) => type === 'Failed')?.reason).toBe('DeadlineExceeded');
    await until(async () => (await podsIn(n)).length === 0);
  });

  it('is over once none of its pods is on its way out, for the reason that was told first', async () => {
    const n = await newNamespace();
    const { spec, ...rest } = job('j', { backoffLimit: 0, parallelism: 2 }, ['false']);
    const pod = { ...spec.template.spec, restartPolicy: 'OnFailure' as const };
    const [jobs, pods] = [client.resource(batchv1.jobs, n), client.resource(corev1.pods, n)];
    await jobs.create({ ...rest, spec: { ...spec, template: { ...spec.template, spec: pod } } });
    await until(async () => (await podsIn(n)).length === 2);
    const hold = 'example.com/hold';
    for (const { metadata } of await podsIn(n)) {
      const finalizers = [...(metadata.finalizers ?? []), hold];
      await pods.patch(metadata.name, mergePatch<corev1.Pod>({ metadata: { finalizers } }));
    }
    await jobs.patch('j', mergePatch<batchv1.Job>({ spec: { activeDeadlineSeconds: 1 } as batchv1.JobSpec }));
    // Both are counted, which is more than may fail, and both are still there.
    await until(async () => (await jobs.get('j')).status?.failed === 2);
    const { status: going } = await jobs.get('j');
    expect(going).toMatchObject({ terminating: 2 });
    expect(going?.active ?? 0).toBe(0);
    const told = (status = going) =>
      (status?.conditions ?? []).map(({ type, status, reason }) => [type, status, reason].join(' '));
    expect(told()).toEqual(['FailureTarget True DeadlineExceeded']);
    for (const { metadata } of await podsIn(n))
      await pods.patch(metadata.name, mergePatch<corev1.Pod>({ metadata: { finalizers: null as never } }));
    const { status } = await until_(n, 'j', 'Failed');
    expect(status).toMatchObject({ failed: 2, terminating: 0 });
    expect(told(status)).toEqual(['FailureTarget True DeadlineExceeded', 'Failed True DeadlineExceeded']);
  });

  it('goes some time after its end, with its pods, if it says so', async () => {
    const n = await newNamespace();
    await client.resource(batchv1.jobs, n).create(job('j', { ttlSecondsAfterFinished: 0 }));
    await until(async () => (await client.resource(batchv1.jobs, n).find('j')) === undefined);
    await until(async () => (await podsIn(n)).length === 0);
  });

  it('comes of a cron job when it is due, once', async () => {
    const n = await newNamespace();
    const past = `${new Date(Date.now() - 90_000).toISOString().slice(0, 19)}Z`;
    const crons = client.resource(batchv1.cronJobs, n);
    await crons.create({
      metadata: { name: 'c' },
      spec: { schedule: '* * * * *', suspend: true, jobTemplate: { spec: job('', {}).spec } },
    });
    await crons.status.patch('c', mergePatch({ status: { lastScheduleTime: past } }));
    await crons.patch('c', mergePatch({ spec: { suspend: false } }));
    await until(async () => (await client.resource(batchv1.jobs, n).list()).items.length > 0);
    const [made] = (await client.resource(batchv1.jobs, n).list()).items;
    expect(made?.metadata.name).toMatch(/^c-\d{8}$/);
    await until(async () => ((await crons.get('c')).status?.lastScheduleTime ?? past) !== past);
    const told = async () =>
      (await client.resource(corev1.events, n).list()).items
        .filter(({ involvedObject }) => involvedObject.kind === 'CronJob')
        .map(({ reason, message }) => `${reason} ${message}`);
    await until(async () => (await told()).length === 2);
    const { name } = made!.metadata;
    expect((await told()).sort()).toEqual([
      `SawCompletedJob Saw completed job: ${name}, condition: Complete`,
      `SuccessfulCreate Created job ${name}`,
    ]);
    await crons.delete('c', { propagationPolicy: 'Background' });
    await until(async () => (await client.resource(batchv1.jobs, n).list()).items.length === 0);
  });
});

describe('a stateful set', () => {
  const set = (image: string, replicas = 3) => ({
    metadata: { name: 's' },
    spec: {
      replicas,
      serviceName: 's',
      selector: { matchLabels: labels },
      template: template(image),
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  });
  const rolledOut = async (n: string) => {
    const { spec, status, metadata } = await client.resource(appsv1.statefulSets, n).get('s');
    return (
      status?.observedGeneration === metadata.generation &&
      status?.currentRevision === status?.updateRevision &&
      status?.readyReplicas === spec.replicas &&
      status?.replicas === spec.replicas
    );
  };

  it('has pods with names, each with its claim; is updated from the last, and scaled down to the first', async () => {
    const n = await newNamespace();
    const sets = client.resource(appsv1.statefulSets, n);
    await sets.create(set('example.com/x:1'));
    await until(() => rolledOut(n));
    expect(await namesIn(n)).toEqual(['s-0', 's-1', 's-2']);
    const claims = (await client.resource(corev1.persistentVolumeClaims, n).list()).items;
    expect(claims.map(({ metadata }) => metadata.name).sort()).toEqual(['data-s-0', 'data-s-1', 'data-s-2']);
    const before = (await client.resource(corev1.pods, n).get('s-0')).metadata.uid;
    await sets.patch('s', mergePatch({ spec: { template: template('example.com/x:2') } }));
    await until(
      async () =>
        (await rolledOut(n)) && (await podsIn(n)).every(({ spec }) => spec.containers[0]!.image === 'example.com/x:2'),
    );
    expect((await client.resource(corev1.pods, n).get('s-0')).metadata.uid).not.toBe(before);
    expect((await client.resource(appsv1.controllerRevisions, n).list()).items.length).toBe(2);
    await sets.scale.patch('s', mergePatch({ spec: { replicas: 1 } }));
    await until(async () => (await namesIn(n)).join() === 's-0');
  });
});

it('a stateful set that wants as many as a number can be has its first, and holds nobody up', async () => {
  const n = await newNamespace();
  const sets = client.resource(appsv1.statefulSets, n);
  const spec = { serviceName: 's', selector: { matchLabels: labels }, template: template('example.com/x:broken') };
  await sets.create({ metadata: { name: 's' }, spec: { ...spec, replicas: 2 ** 31 - 1 } });
  await until(async () => (await namesIn(n)).join() === 's-0');
  await until(async () => (await sets.get('s')).status?.replicas === 1);
});

it('a daemon set has one pod on every node that takes it, and replaces them when it changes', async () => {
  const n = await newNamespace();
  const sets = client.resource(appsv1.daemonSets, n);
  await sets.create({ metadata: { name: 'd' }, spec: { selector: { matchLabels: labels }, template: template() } });
  const isDone = async (image: string) => {
    const { status, metadata } = await sets.get('d');
    const pods = await podsIn(n);
    const { numberAvailable = 0, updatedNumberScheduled = 0, observedGeneration } = status ?? {};
    return (
      observedGeneration === metadata.generation &&
      [numberAvailable, updatedNumberScheduled, pods.length].every((is) => is === 2) &&
      pods.every(({ spec }) => spec.containers[0]!.image === image)
    );
  };
  await until(() => isDone('example.com/x:1'));
  expect((await podsIn(n)).map(({ spec }) => spec.nodeName).sort()).toEqual(['node-1', 'node-2']);
  await sets.patch('d', mergePatch({ spec: { template: template('example.com/x:2') } }));
  await until(() => isDone('example.com/x:2'));
  await sets.patch('d', mergePatch({ spec: { template: { spec: { nodeSelector: { none: 'here' } } } } }));
  await until(async () => (await podsIn(n)).length === 0);
});

describe('behind a service', () => {
  it('are the pods that are ready, by the number of the port they name', async () => {
    const n = await newNamespace();
    const ports = [{ port: 80, targetPort: 'web' }];
    await client.resource(corev1.services, n).create({ metadata: { name: 'x' }, spec: { selector: labels, ports } });
    const slices = async () => (await client.resource(discoveryv1.endpointSlices, n).list()).items;
    await until(async () => (await slices()).length === 1);
    const inZone = { metadata: { labels: { 'topology.kubernetes.io/zone': 'a' } } } as object;
    await client.resource(corev1.nodes).patch('node-1', mergePatch<corev1.Node>(inZone));
    await client.resource(appsv1.deployments, n).create({
      metadata: { name: 'x' },
      spec: { replicas: 3, selector: { matchLabels: labels }, template: template() },
    });
    const readyOnes = async () =>
      (await slices()).flatMap(({ endpoints }) => (endpoints ?? []).filter(({ conditions }) => conditions?.ready));
    await until(async () => (await readyOnes()).length === 3);
    const [slice] = await slices();
    expect(slice?.ports).toEqual([{ name: '', port: 8080, protocol: 'TCP' }]);
    expect(slice?.metadata.labels).toMatchObject({
      'kubernetes.io/service-name': 'x',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    });
    const addresses = (await podsIn(n)).map(({ status }) => status?.podIP).sort();
    expect((await readyOnes()).flatMap((one) => one.addresses).sort()).toEqual(addresses);
    const zones = new Set((await readyOnes()).map(({ nodeName, zone }) => `${nodeName} ${zone}`));
    expect(zones).toEqual(new Set(['node-1 a', 'node-2 undefined']));
    await client.resource(appsv1.deployments, n).scale.patch('x', mergePatch({ spec: { replicas: 0 } }));
    await until(async () => (await readyOnes()).length === 0);
    await client.resource(corev1.services, n).delete('x');
    await until(async () => (await slices()).length === 0); // by the garbage collector
  });

  it('a budget says how many may go, and evictions obey', async () => {
    const n = await newNamespace();
    const budgets = client.resource(policyv1.podDisruptionBudgets, n);
    await client.resource(appsv1.deployments, n).create({
      metadata: { name: 'x' },
      spec: { replicas: 3, selector: { matchLabels: labels }, template: template() },
    });
    await budgets.create({ metadata: { name: 'b' }, spec: { maxUnavailable: 1, selector: { matchLabels: labels } } });
    const status = async () => (await budgets.get('b')).status;
    await until(async () => (await status())?.disruptionsAllowed === 1);
    expect(await status()).toMatchObject({ expectedPods: 3, desiredHealthy: 2, currentHealthy: 3 });
    await budgets.patch('b', mergePatch({ spec: { maxUnavailable: 0 } }));
    await until(async () => (await status())?.disruptionsAllowed === 0);
    const [name] = await namesIn(n);
    const eviction = client.resource(corev1.pods, n).subresource('eviction').create(name!, { metadata: { name } });
    await expect(eviction).rejects.toSatisfy((err) => isApiError(err, 'TooManyRequests'));
  });

  it('a budget expects nothing of Pods without a controller, and lets none go where it cannot tell', async () => {
    const n = await newNamespace();
    const budgets = client.resource(policyv1.podDisruptionBudgets, n);
    const told = async () =>
      (await client.resource(corev1.events, n).list()).items
        .filter(({ involvedObject }) => involvedObject.kind === 'PodDisruptionBudget')
        .map(({ reason, message }) => `${reason} ${message}`);
    const selector = { matchLabels: labels };
    await budgets.create({ metadata: { name: 'b' }, spec: { maxUnavailable: 0, selector } });
    await until(async () => (await told()).includes('NoPods No matching pods found'));
    await client.resource(corev1.pods, n).create({ metadata: { name: 'alone', labels }, spec: template().spec });
    const shown =
      '&LabelSelector{MatchLabels:map[string]string{app: x,},MatchExpressions:[]LabelSelectorRequirement{},}';
    await until(async () => (await told()).some((text) => text.startsWith(`UnmanagedPods Pods selected by this`)));
    expect((await told()).find((text) => text.startsWith('UnmanagedPods'))).toContain(`(selector: ${shown})`);
    await until(async () => (await budgets.get('b')).status?.currentHealthy === 1);
    expect((await budgets.get('b')).status).toMatchObject({
      expectedPods: 0,
      desiredHealthy: 0,
      disruptionsAllowed: 0,
    });
    await client
      .resource(appsv1.daemonSets, n)
      .create({ metadata: { name: 'd' }, spec: { selector, template: template() } });
    await until(async () => (await budgets.get('b')).status?.conditions?.[0]?.reason === 'SyncFailed');
    expect((await budgets.get('b')).status).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ status: 'False', message: 'daemonsets.apps does not implement the scale subresource' }],
    });
  });
});

describe('in older forms', () => {
  it('a ReplicationController has its Pods, takes over those that fit, and can be scaled', async () => {
    const n = await newNamespace();
    const controllers = client.resource(corev1.replicationControllers, n);
    await client.resource(corev1.pods, n).create({ metadata: { name: 'orphan', labels }, spec: template().spec });
    await controllers.create({
      metadata: { name: 'rc' },
      spec: { replicas: 2, selector: labels, template: template() },
    });
    await until(async () => (await controllers.get('rc')).status?.readyReplicas === 2);
    expect(await namesIn(n)).toContain('orphan');
    await controllers.patch('rc', mergePatch({ spec: { replicas: 1 } }));
    await until(async () => (await podsIn(n)).length === 1);
  });

  it('Endpoints are those of the Pods that a Service selects, ready ones apart, and go with it', async () => {
    const n = await newNamespace();
    const endpoints = client.resource(corev1.endpoints, n);
    const pods = client.resource(corev1.pods, n);
    const spec = { selector: labels, ports: [{ name: 'web', port: 80, targetPort: 'web' }] };
    await client.resource(corev1.services, n).create({ metadata: { name: 's', labels: { of: 's' } }, spec });
    await pods.create({ metadata: { name: 'a', labels }, spec: template().spec });
    await until(async () => (await endpoints.find('s'))?.subsets?.[0]?.addresses?.length === 1);
    const { subsets, metadata } = await endpoints.get('s');
    const target = { targetRef: { kind: 'Pod', name: 'a' } };
    expect(subsets).toMatchObject([{ addresses: [target], ports: [{ name: 'web', port: 8080, protocol: 'TCP' }] }]);
    expect(metadata.labels).toEqual({ of: 's', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' });
    await endpoints.delete('s'); // somebody else's mistake
    await until(async () => (await endpoints.find('s'))?.subsets?.[0]?.addresses?.length === 1);
    await pods.delete('a');
    await until(async () => ((await endpoints.get('s')).subsets ?? []).length === 0);
    await client.resource(corev1.services, n).delete('s');
    await until(async () => (await endpoints.find('s')) === undefined);
  });
});

it('nothing went wrong on the way', () => {
  expect(server.logged).toEqual([]);
});
