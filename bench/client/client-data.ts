/**
 * The pods that clients are measured with: about 1.5 KB of JSON each, as a server sends them, spread over namespaces and
 * nodes, with the parts that pods of a Deployment have. All are equally long but for the digits of their versions.
 *
 * A cluster is a data folder that a server can be started on, with certificates and a kubeconfig, and with such pods put
 * into its store without asking a server for each.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts';
import { inFlight } from '../lib/measure.ts';
import { MeasuredProcess } from '../lib/server-process.ts';
import type { ServerContext } from '../lib/server-report.ts';

const NAMESPACES = 50;
const NODES = 500;
const APPS = 100;

/**
 * `extra` is an annotation, for who wants to recognise an event; `restarts` stands in the status. With `isManaged` as API
 * servers serve them: also with the record of who set which field, which more than doubles the text, and which hardly
 * anybody reads.
 */
export function podJson(
  i: number,
  version: number | undefined,
  { extra = '', isManaged = false, restarts = 0 }: PodOptions = {},
): string {
  const app = `app-${digits(i % APPS, 3)}`;
  const namespace = namespaceOf(i);
  return JSON.stringify({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: podName(i),
      generateName: `${app}-7c5ddbdf54-`,
      namespace,
      uid: `00000000-0000-4000-8000-${digits(i, 12)}`,
      ...(version !== undefined && { resourceVersion: String(version) }),
      creationTimestamp: '2026-02-03T04:05:06Z',
      labels: { app, 'pod-template-hash': '7c5ddbdf54', track: 'stable' },
      annotations: { 'bench.longwatch/extra': extra },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${app}-7c5ddbdf54`,
          uid: '11111111-2222-4333-8444-555555555555',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      ...(isManaged && { managedFields }),
    },
    spec: {
      nodeName: `node-${digits(i % NODES, 4)}`,
      serviceAccountName: 'default',
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/shop/storefront:2.41.0',
          args: ['--listen=:8080', '--log-format=json'],
          ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
          env: [
            { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
            { name: 'LOG_LEVEL', value: 'info' },
          ],
          resources: { requests: { cpu: '100m', memory: '128Mi' } },
          imagePullPolicy: 'IfNotPresent',
        },
      ],
    },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: '2026-02-03T04:05:16Z' },
        { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-02-03T04:05:06Z' },
      ],
      hostIP: '10.0.0.1',
      podIP: `10.1.${i % 250}.${(i >> 8) % 250}`,
      startTime: '2026-02-03T04:05:06Z',
      containerStatuses: [
        {
          name: 'web',
          ready: true,
          restartCount: restarts,
          image: 'registry.example.com/shop/storefront:2.41.0',
          state: { running: { startedAt: '2026-02-03T04:05:12Z' } },
        },
      ],
    },
  });
}

type PodOptions = { readonly extra?: string; readonly isManaged?: boolean | undefined; readonly restarts?: number };

const keys = (...names: string[]) =>
  Object.fromEntries(['.', ...names.map((name) => `f:${name}`)].map((key) => [key, {}]));
const condition = keys('lastProbeTime', 'lastTransitionTime', 'status', 'type');
const managed = { operation: 'Update', apiVersion: 'v1', time: '2026-02-03T04:05:16Z', fieldsType: 'FieldsV1' };
/** What the API server notes of a pod like these: its creation by a controller, and its status by the kubelet. */
const managedFields = [
  {
    manager: 'kube-controller-manager',
    ...managed,
    fieldsV1: {
      'f:metadata': {
        'f:annotations': keys('bench.longwatch/extra'),
        'f:generateName': {},
        'f:labels': keys('app', 'pod-template-hash', 'track'),
        'f:ownerReferences': { '.': {}, 'k:{"uid":"11111111-2222-4333-8444-555555555555"}': {} },
      },
      'f:spec': {
        'f:containers': {
          'k:{"name":"web"}': {
            ...keys('args', 'image', 'imagePullPolicy', 'name', 'terminationMessagePath', 'terminationMessagePolicy'),
            'f:env': {
              '.': {},
              'k:{"name":"LOG_LEVEL"}': keys('name', 'value'),
              'k:{"name":"POD_NAME"}': { ...keys('name'), 'f:valueFrom': keys('fieldRef') },
            },
            'f:ports': {
              '.': {},
              'k:{"containerPort":8080,"protocol":"TCP"}': keys('containerPort', 'name', 'protocol'),
            },
            'f:resources': { '.': {}, 'f:requests': keys('cpu', 'memory') },
          },
        },
        'f:dnsPolicy': {},
        'f:enableServiceLinks': {},
        'f:restartPolicy': {},
        'f:schedulerName': {},
        'f:securityContext': {},
        'f:terminationGracePeriodSeconds': {},
      },
    },
  },
  {
    manager: 'kubelet',
    ...managed,
    fieldsV1: {
      'f:status': {
        'f:conditions': { 'k:{"type":"ContainersReady"}': condition, 'k:{"type":"Ready"}': condition },
        'f:containerStatuses': {},
        'f:hostIP': {},
        'f:phase': {},
        'f:podIP': {},
        'f:podIPs': { '.': {}, 'k:{"ip":"10.244.0.1"}': keys('ip') },
        'f:startTime': {},
      },
    },
    subresource: 'status',
  },
];

export type Cluster = { readonly dataDir: string };

export async function prepareCluster(context: ServerContext, pods: number): Promise<Cluster> {
  const dataDir = mkdtempSync(join(context.folder, 'client-'));
  {
    await using _server = await MeasuredProcess.startServer(context, dataDir); // makes certificates and kubeconfig
  }
  if (pods === 0) return { dataDir };
  await using store = await openEmbeddedStore({
    dataDir: join(dataDir, 'store'),
    durability: 'none',
    autoCompaction: { mode: 'off' },
  });
  const put = (i: number) => {
    const key = `/registry/pods/${namespaceOf(i)}/${podName(i)}`;
    return store.txn({ then: [{ kind: 'put', key, value: Buffer.from(podJson(i, undefined)) }] });
  };
  await inFlight(pods, 1024, put, { signal: context.signal });
  return { dataDir };
}

/** The administrator's kubeconfig with the address of a server that listens now. */
export function kubeconfigFor({ dataDir }: Cluster, port: number): string {
  const text = readFileSync(join(dataDir, 'admin.kubeconfig'), 'utf8');
  const file = join(dataDir, `kubeconfig-${port}`);
  writeFileSync(file, text.replace(/server: .*/, `server: https://127.0.0.1:${port}`), { mode: 0o600 });
  return file;
}

function podName(i: number): string {
  return `app-${digits(i % APPS, 3)}-7c5ddbdf54-${digits(i, 6)}`;
}

function namespaceOf(i: number): string {
  return `team-${digits(i % NAMESPACES, 2)}`;
}

function digits(value: number, length: number): string {
  return String(value).padStart(length, '0');
}
