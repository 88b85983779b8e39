import { describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { find } from '../../kinds/strategy-run.testing.ts';
import { admitted, type TestWrite } from '../admission.testing.ts';
import type { QuotaStore } from './quota-ledger.ts';
import { QuotaLedger } from './quota-ledger.ts';
import { resourceQuota } from './resource-quota.ts';
import { usageOf } from './usage.ts';

type Quota = KubeObject & { status: { hard: JsonObject; used: JsonObject } };

const quotaOf = (name: string, hard: JsonObject, used: JsonObject, spec: JsonObject = {}): Quota => ({
  kind: 'ResourceQuota',
  apiVersion: 'v1',
  metadata: { name, namespace: 'ns', resourceVersion: '1' },
  spec,
  status: { hard, used },
});

/** A store with versions, where each write takes a turn of the loop. */
class FakeStore implements QuotaStore {
  readonly quotas: Map<string, Quota>;
  writes = 0;
  /** Called before each write. */
  meanwhile: () => void = () => {};

  constructor(...quotas: Quota[]) {
    this.quotas = new Map(quotas.map((quota) => [quota.metadata.name!, quota]));
  }

  async list(): Promise<KubeObject[]> {
    return structuredClone([...this.quotas.values()]);
  }

  async writeUsed(quota: KubeObject, used: JsonObject) {
    await Promise.resolve();
    this.meanwhile();
    const current = this.quotas.get(quota.metadata.name!);
    if (current?.metadata.resourceVersion !== quota.metadata.resourceVersion)
      return { instead: structuredClone(current) };
    this.put(quota.metadata.name!, used);
    return 'written' as const;
  }

  put(name: string, used: JsonObject): void {
    const current = this.quotas.get(name)!;
    const resourceVersion = String(Number(current.metadata.resourceVersion) + 1);
    this.writes++;
    this.quotas.set(name, {
      ...current,
      metadata: { ...current.metadata, resourceVersion },
      status: { ...current.status, used },
    });
  }

  used(name = 'q'): JsonObject {
    return this.quotas.get(name)!.status.used;
  }
}

const pod = (spec: JsonObject = {}, name = 'a'): TestWrite => ({
  resource: 'pods',
  object: { metadata: { name }, spec: { containers: [{ name: 'c' }], ...spec } },
});
const asking = (requests: JsonObject, limits: JsonObject = {}) => ({
  containers: [{ name: 'c', resources: { requests, limits } }],
});

const asksFor = (requests: JsonObject): JsonObject => ({ spec: asking(requests) });

describe('usage', () => {
  const of = (resource: string, object: JsonObject) => {
    const usage = usageOf(find(resource)).of(
      { metadata: { name: 'a' }, ...object } as unknown as KubeObject,
      Date.parse('2024-01-01T00:01:00Z'),
    );
    return Object.fromEntries([...usage].map(([name, amount]) => [name, `${amount}`]));
  };

  it.each<[claim: string, resource: string, object: JsonObject, want: JsonObject]>([
    ['a kind like others', 'deployments.apps', {}, { 'count/deployments.apps': '1' }],
    ['a kind with a name of its own', 'secrets', {}, { secrets: '1', 'count/secrets': '1' }],
    [
      'a Pod with sidecars, overhead and a device',
      'pods',
      {
        spec: {
          containers: [
            { name: 'c', resources: { requests: { cpu: '1', 'example.com/gpu': '2' }, limits: { cpu: '2' } } },
          ],
          initContainers: [
            { name: 's', restartPolicy: 'Always', resources: { requests: { cpu: '100m' } } },
            { name: 'i', resources: { requests: { cpu: '3' } } },
          ],
          overhead: { cpu: '10m', memory: '1Mi' },
        },
      },
      {
        'count/pods': '1',
        pods: '1',
        cpu: '3110m',
        'requests.cpu': '3110m',
        'limits.cpu': '2010m',
        memory: '1Mi',
        'requests.memory': '1Mi',
        'requests.example.com/gpu': '2',
      },
    ],
    [
      'a Pod that is being resized: the greater of what it asks for and what it has',
      'pods',
      {
        spec: {
          containers: [
            { name: 'c', resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1' } } },
            { name: 'd', resources: { requests: { cpu: '1' } } },
          ],
          initContainers: [{ name: 'i', resources: { requests: { cpu: '1' } } }],
        },
        status: {
          containerStatuses: [
            {
              name: 'c',
              allocatedResources: { cpu: '3' },
              resources: { requests: { cpu: '2', memory: '512Mi' }, limits: { cpu: '4' } },
            },
            { name: 'd', allocatedResources: { cpu: '9' } },
          ],
          initContainerStatuses: [{ name: 'i', resources: { requests: { cpu: '100' } } }],
        },
      },
      {
        'count/pods': '1',
        pods: '1',
        cpu: '4',
        'requests.cpu': '4',
        'limits.cpu': '4',
        memory: '1Gi',
        'requests.memory': '1Gi',
      },
    ],
    [
      'a Pod whose resize no node can follow: what it has',
      'pods',
      {
        spec: { containers: [{ name: 'c', resources: { requests: { cpu: '8' } } }] },
        status: {
          containerStatuses: [{ name: 'c', resources: { requests: { cpu: '1' } } }],
          conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
        },
      },
      { 'count/pods': '1', pods: '1', cpu: '1', 'requests.cpu': '1' },
    ],
    [
      'a Pod that asks for devices by their class',
      'pods',
      asksFor({ 'deviceclass.resource.kubernetes.io/gold': '2' }),
      { 'count/pods': '1', pods: '1', 'requests.deviceclass.resource.kubernetes.io/gold': '2' },
    ],
    [
      'a claim for devices: by class the most that it may get',
      'resourceclaims.resource.k8s.io',
      {
        spec: {
          devices: {
            requests: [
              { name: 'a', exactly: { deviceClassName: 'gold', allocationMode: 'ExactCount', count: 2 } },
              { name: 'b', exactly: { deviceClassName: 'iron', allocationMode: 'All' } },
              {
                name: 'c',
                firstAvailable: [
                  { name: 'x', deviceClassName: 'gold', allocationMode: 'ExactCount', count: 1 },
                  { name: 'y', deviceClassName: 'gold', allocationMode: 'ExactCount', count: 4 },
                  { name: 'z', deviceClassName: 'tin', allocationMode: 'ExactCount', count: 8 },
                ],
              },
            ],
          },
        },
      },
      {
        'count/resourceclaims.resource.k8s.io': '1',
        'gold.deviceclass.resource.k8s.io/devices': '6',
        'iron.deviceclass.resource.k8s.io/devices': '32',
        'tin.deviceclass.resource.k8s.io/devices': '8',
        'requests.deviceclass.resource.kubernetes.io/gold': '6',
        'requests.deviceclass.resource.kubernetes.io/iron': '32',
        'requests.deviceclass.resource.kubernetes.io/tin': '8',
      },
    ],
    ['a Pod that has ended', 'pods', { status: { phase: 'Failed' } }, { 'count/pods': '1' }],
    [
      'a Pod that should be gone',
      'pods',
      { metadata: { deletionTimestamp: '2024-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 } },
      { 'count/pods': '1' },
    ],
    [
      'a LoadBalancer',
      'services',
      { spec: { type: 'LoadBalancer', ports: [{ port: 1 }, { port: 2 }] } },
      { services: '1', 'count/services': '1', 'services.loadbalancers': '1', 'services.nodeports': '2' },
    ],
    [
      'a LoadBalancer that asks for no node ports but one',
      'services',
      { spec: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ nodePort: 30000 }, {}] } },
      { services: '1', 'count/services': '1', 'services.loadbalancers': '1', 'services.nodeports': '1' },
    ],
    [
      'a claim of a class',
      'persistentvolumeclaims',
      { spec: { storageClassName: 'gold', resources: { requests: { storage: '1Gi' } } } },
      {
        persistentvolumeclaims: '1',
        'count/persistentvolumeclaims': '1',
        'requests.storage': '1Gi',
        'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
        'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
      },
    ],
  ])('of %s', (_claim, resource, object, want) => {
    expect(of(resource, object)).toEqual(want);
  });
});

describe('ResourceQuota', () => {
  const write = (store: QuotaStore, what: TestWrite) => admitted(resourceQuota(store), what);

  it('counts what is created up to its limit, and refuses the next', async () => {
    const store = new FakeStore(quotaOf('q', { configmaps: '2', pods: '1' }, { configmaps: '1', pods: '0' }));
    await write(store, { resource: 'configmaps', object: {} });
    expect(store.used()).toEqual({ configmaps: '2', pods: '0' });
    await expect(write(store, { resource: 'configmaps', object: {} })).rejects.toMatchObject({
      code: 403,
      message:
        'configmaps "a" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
    });
    await write(store, { resource: 'secrets', object: {} });
    await write(store, { resource: 'events', object: {} });
    expect(store.writes).toBe(1);
  });

  it('counts nothing of a dry run, and refuses it all the same', async () => {
    const store = new FakeStore(quotaOf('q', { configmaps: '1' }, { configmaps: '0' }));
    const dry: TestWrite = { resource: 'configmaps', object: {}, isDryRun: true };
    await write(store, dry);
    expect(store.writes).toBe(0);
    store.put('q', { configmaps: '1' });
    await expect(write(store, dry)).rejects.toThrow('exceeded quota');
  });

  it('restrains nothing before it has a status, and everything it counts while it does not know what is used', async () => {
    await write(new FakeStore(quotaOf('q', {}, {}, { hard: { pods: '0' } })), pod());
    await expect(write(new FakeStore(quotaOf('q', { pods: '1', configmaps: '1' }, {})), pod())).rejects.toThrow(
      'pods "a" is forbidden: status unknown for quota: q, resources: pods',
    );
  });

  it('wants to be told by each container what it restrains', async () => {
    const hard = { 'requests.cpu': '1', 'limits.memory': '1Gi', pods: '9' };
    const used = { 'requests.cpu': '0', 'limits.memory': '0', pods: '0' };
    const store = new FakeStore(quotaOf('q', hard, used));
    const containers = [{ name: 'y' }, { name: 'x', resources: { requests: { cpu: '1m' } } }];
    await expect(write(store, pod({ containers }))).rejects.toThrow(
      'failed quota: q: must specify limits.memory for: x,y; requests.cpu for: y',
    );
    await write(store, pod({ containers, resources: { requests: { cpu: '1m' }, limits: { memory: '1Mi' } } }));
    expect(store.used()).toEqual({ 'requests.cpu': '1m', 'limits.memory': '1Mi', pods: '1' });
    await write(store, pod({ containers, resources: { requests: { memory: '1Mi' } } }));
    expect(store.used()).toEqual({ 'requests.cpu': '2m', 'limits.memory': '1Mi', pods: '2' });
  });

  it('counts devices by their class, also where an update asks for more of them', async () => {
    const claim = (count: number) => ({
      spec: {
        devices: {
          requests: [{ name: 'r', exactly: { deviceClassName: 'gold', allocationMode: 'ExactCount', count } }],
        },
      },
    });
    const devices = 'gold.deviceclass.resource.k8s.io/devices';
    const store = new FakeStore(quotaOf('q', { [devices]: '3' }, { [devices]: '0' }));
    const resource = 'resourceclaims.resource.k8s.io';
    await write(store, { resource, object: claim(2) });
    expect(store.used()).toEqual({ [devices]: '2' });
    await expect(write(store, { resource, object: claim(2) })).rejects.toThrow(
      `resourceclaims.resource.k8s.io "a" is forbidden: exceeded quota: q, requested: ${devices}=2, used: ${devices}=2, limited: ${devices}=3`,
    );
    await write(store, { resource, operation: 'UPDATE', old: claim(2), object: claim(3) });
    expect(store.used()).toEqual({ [devices]: '3' });
  });

  it('tells all that is too much, and only that', async () => {
    const hard = { 'requests.cpu': '1', 'requests.memory': '1Gi', pods: '9' };
    const store = new FakeStore(quotaOf('q', hard, { 'requests.cpu': '700m', 'requests.memory': '100Mi', pods: '1' }));
    await expect(write(store, pod(asking({ cpu: '500m', memory: '2Gi' })))).rejects.toThrow(
      'exceeded quota: q, requested: requests.cpu=500m,requests.memory=2Gi, used: requests.cpu=700m,requests.memory=100Mi, limited: requests.cpu=1,requests.memory=1Gi',
    );
  });

  it('charges an update for what it adds, and gives nothing back', async () => {
    const service = (type: string) => ({ spec: { type, ports: [{ port: 1 }] } });
    const store = new FakeStore(quotaOf('q', { 'services.nodeports': '1' }, { 'services.nodeports': '0' }));
    const update = (old: string, object: string) =>
      write(store, { resource: 'services', operation: 'UPDATE', old: service(old), object: service(object) });
    await update('ClusterIP', 'NodePort');
    await update('NodePort', 'NodePort');
    await update('NodePort', 'ClusterIP');
    expect(store.used()).toEqual({ 'services.nodeports': '1' });
    await expect(update('ClusterIP', 'NodePort')).rejects.toThrow('exceeded quota');
  });

  it('counts what a status says has happened, however much it is', async () => {
    const claim = (storage: string) => ({
      spec: { resources: { requests: { storage: '1Gi' } } },
      status: { allocatedResources: { storage } },
    });
    const store = new FakeStore(quotaOf('q', { 'requests.storage': '1Gi' }, { 'requests.storage': '1Gi' }));
    const resource = 'persistentvolumeclaims';
    const update: TestWrite = {
      resource,
      subresource: 'status',
      operation: 'UPDATE',
      old: claim('1Gi'),
      object: claim('2Gi'),
    };
    await write(store, update);
    expect(store.used()).toEqual({ 'requests.storage': '2Gi' });
  });

  const scopes = (...names: string[]) => ({ scopes: names });
  const selector = (scopeName: string, operator: string, ...values: string[]) => ({
    scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
  });
  const affinity = {
    affinity: {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ namespaceSelector: {}, topologyKey: 'k' }] },
    },
  };
  it.each<[spec: JsonObject, pod: JsonObject, isCounted: boolean]>([
    [scopes('BestEffort'), {}, true],
    [scopes('BestEffort'), asking({ cpu: '1' }), false],
    [scopes('NotBestEffort'), asking({ cpu: '1' }), true],
    [scopes('Terminating'), { activeDeadlineSeconds: 5 }, true],
    [scopes('Terminating'), {}, false],
    [scopes('NotTerminating'), {}, true],
    [scopes('NotTerminating', 'BestEffort'), asking({ cpu: '1' }), false],
    [selector('PriorityClass', 'In', 'high'), { priorityClassName: 'high' }, true],
    [selector('PriorityClass', 'In', 'high'), {}, false],
    [selector('PriorityClass', 'NotIn', 'high'), {}, true],
    [selector('PriorityClass', 'NotIn', 'high'), { priorityClassName: 'high' }, false],
    [selector('PriorityClass', 'Exists'), { priorityClassName: 'any' }, true],
    [selector('PriorityClass', 'DoesNotExist'), { priorityClassName: 'any' }, false],
    [scopes('CrossNamespacePodAffinity'), affinity, true],
    [scopes('CrossNamespacePodAffinity'), {}, false],
  ])('with %j counts the Pod %j: %s', async (spec, one, isCounted) => {
    const store = new FakeStore(quotaOf('q', { pods: '9' }, { pods: '0' }, spec));
    await write(store, pod(one));
    expect(store.used()).toEqual({ pods: isCounted ? '1' : '0' });
  });

  it('counts a Pod that an update moves into its scope', async () => {
    const store = new FakeStore(quotaOf('q', { pods: '1' }, { pods: '1' }, scopes('Terminating')));
    const [old, object] = [pod().object!, pod({ activeDeadlineSeconds: 5 }).object!];
    await expect(write(store, { resource: 'pods', operation: 'UPDATE', old, object })).rejects.toThrow(
      'exceeded quota',
    );
    await write(store, { resource: 'pods', operation: 'UPDATE', old: object, object });
  });
});

describe('QuotaLedger', () => {
  const create = (store: QuotaStore) => admitted(resourceQuota(store), { resource: 'configmaps', object: {} });

  it('never exceeds a quota, however many come at once, and writes it once for all that wait', async () => {
    const store = new FakeStore(quotaOf('q', { configmaps: '30' }, { configmaps: '0' }));
    const plugin = resourceQuota(store);
    const many = Array.from({ length: 100 }, () => admitted(plugin, { resource: 'configmaps', object: {} }));
    const outcomes = await Promise.allSettled(many);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(30);
    expect(store.used()).toEqual({ configmaps: '30' });
    expect(store.writes).toBeLessThan(5);
  });

  it('judges anew on what another server has written meanwhile', async () => {
    const store = new FakeStore(quotaOf('q', { configmaps: '3' }, { configmaps: '0' }));
    const others = [() => store.put('q', { configmaps: '1' }), () => store.put('q', { configmaps: '2' })];
    store.meanwhile = () => others.shift()?.();
    await create(store);
    expect(store.used()).toEqual({ configmaps: '3' });
    store.quotas.set('q', quotaOf('q', { configmaps: '3' }, { configmaps: '2' }));
    store.meanwhile = () => {
      store.meanwhile = () => {};
      store.put('q', { configmaps: '3' });
    };
    await expect(create(store)).rejects.toThrow('exceeded quota');
  });

  it('gives up when somebody always comes first, and passes when the quota is gone', async () => {
    const store = new FakeStore(quotaOf('q', { configmaps: '9' }, { configmaps: '0' }));
    store.meanwhile = () => store.put('q', { configmaps: '0' });
    await expect(create(store)).rejects.toMatchObject({ code: 409 });
    store.meanwhile = () => store.quotas.clear();
    await create(store);
  });

  it.each([
    ['the same', 'for what it has grown by', undefined, { services: '1', 'services.nodeports': '2' }],
    ['another', 'for all of it', '7', { services: '2', 'services.nodeports': '3' }],
  ])('charges a write that is tried again in the place of %s version %s', async (_, __, over, used) => {
    const hard = { services: '9', 'services.nodeports': '9' };
    const store = new FakeStore(quotaOf('q', hard, { services: '0', 'services.nodeports': '0' }));
    const ledger = new QuotaLedger(store);
    const ports = (...all: number[]) => ({ type: 'NodePort', ports: all.map((port) => ({ port })) });
    const validate = async (a: Parameters<QuotaLedger['charge']>[0]) => {
      await ledger.charge(a);
      a.object = { ...a.object!, spec: ports(80, 81) };
      if (over !== undefined) a.charged = { ...a.charged!, over };
      await ledger.charge(a);
    };
    await admitted({ name: 'ResourceQuota', validate }, { resource: 'services', object: { spec: ports(80) } });
    expect(store.used()).toEqual(used);
  });

  it('fails with what the store fails with, and with a 500 after its time', async () => {
    const failing: QuotaStore = {
      list: async () => [quotaOf('q', { configmaps: '9' }, { configmaps: '0' })],
      writeUsed: async () => {
        throw new Error('gone');
      },
    };
    await expect(create(failing)).rejects.toThrow('gone');
    const stuck: QuotaStore = { ...failing, writeUsed: () => new Promise(() => {}) };
    const ledger = new QuotaLedger(stuck, 1);
    const plugin = { name: 'ResourceQuota', validate: (a: Parameters<QuotaLedger['charge']>[0]) => ledger.charge(a) };
    await expect(admitted(plugin, { resource: 'configmaps', object: {} })).rejects.toMatchObject({
      code: 500,
      message: 'Internal error occurred: resource quota evaluation timed out',
    });
  });
});
