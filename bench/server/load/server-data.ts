/**
 * The pods that are served: 1.5 KB as a client sends them, more once the server has added defaults and owners.
 *
 * A data folder full of pods is made without asking the server for each: one pod is created and read back, and the
 * others are copies of what it stored, under other names, put into the store without flushing. Names have a fixed
 * length, so all copies are equally long.
 */
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { inFlight } from '../../lib/measure.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import type { ServerContext } from '../../lib/server-report.ts';
import { Client, type Endpoint } from './server-client.ts';

export const PODS = '/api/v1/namespaces/default/pods';
export const GROUPS = 100;

export type PodData = {
  readonly dataDir: string;
  /** The version of each pod, for the first update. */
  readonly versions: number[];
  /** Of one pod as it is stored. */
  readonly podBytes: number;
};

type Template = { readonly dataDir: string; readonly served: string };

const templates = new Map<string, Promise<Template>>();

export function podName(i: number): string {
  return `pod-${digits(i, 7)}`;
}

export function nodeName(node: number): string {
  return `node-${digits(node, 5)}`;
}

/** Pod number i is on node i modulo `nodes`, and in group i modulo GROUPS. */
export async function preparePods(context: ServerContext, pods: number, nodes: number): Promise<PodData> {
  const { dataDir: base, served } = await templateIn(context);
  const dataDir = mkdtempSync(join(context.folder, 'server-'));
  cpSync(base, dataDir, { recursive: true });
  const versions: number[] = [];
  const stored = (i: number) => filledIn(served, i, i % nodes).replace(/,"resourceVersion":"\d+"/, '');
  await using store = await openEmbeddedStore({
    dataDir: join(dataDir, 'store'),
    durability: 'none',
    autoCompaction: { mode: 'off' },
  });
  const put = async (i: number) => {
    const key = `/registry/pods/default/${podName(i)}`;
    const { revision } = await store.txn({ then: [{ kind: 'put', key, value: Buffer.from(stored(i)) }] });
    versions[i] = revision;
  };
  await inFlight(pods, 1024, put, { signal: context.signal });
  return { dataDir, versions, podBytes: stored(0).length };
}

export function endpointOf({ ready }: MeasuredProcess, dataDir: string): Endpoint {
  return { port: ready.port, token: readFileSync(join(dataDir, 'admin.token'), 'utf8').trim() };
}

/** What a client sends to create a pod. */
export function newPod(name: string): Buffer {
  return Buffer.from(JSON.stringify(podToSend(name)));
}

/** What a controller sends after reading a pod and changing one annotation. */
export async function updater(context: ServerContext, nodes: number) {
  const { served } = await templateIn(context);
  return (i: number, version: number, count: number): Buffer =>
    Buffer.from(
      filledIn(served, i, i % nodes)
        .replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${version}"`)
        .replace('"count-0000000"', `"count-${digits(count, 7)}"`),
    );
}

/** From the beginning of an object, where it stands. */
export function versionIn(body: Buffer): number {
  return Number(/"resourceVersion":"(\d+)"/.exec(body.toString('latin1', 0, 600))![1]);
}

/** Of the whole resource, from the head of a list. */
export async function newestVersion(endpoint: Endpoint): Promise<number> {
  const client = await Client.open(endpoint);
  const { body } = await client.must('GET', `${PODS}?limit=1`);
  client.close();
  return versionIn(body);
}

function templateIn(context: ServerContext): Promise<Template> {
  let template = templates.get(context.folder);
  if (!template) {
    template = makeTemplate(context);
    templates.set(context.folder, template);
  }
  return template;
}

async function makeTemplate(context: ServerContext): Promise<Template> {
  const dataDir = mkdtempSync(join(context.folder, 'server-'));
  await using server = await MeasuredProcess.startServer(context, dataDir);
  const client = await Client.open(endpointOf(server, dataDir));
  const { body } = await client.must('POST', PODS, newPod(podName(0)));
  const { length } = newPod(podName(0));
  context.say(`pods have ${length} bytes as sent, ${body.length} as served`);
  await client.must('DELETE', `${PODS}/${podName(0)}?gracePeriodSeconds=0`);
  client.close();
  return { dataDir, served: body.toString('utf8').trimEnd() };
}

function filledIn(served: string, i: number, node: number): string {
  return served
    .replace(`"name":"${podName(0)}"`, `"name":"${podName(i)}"`)
    .replace(/"uid":"[^"]*"/, `"uid":"00000000-0000-4000-8000-${digits(i, 12)}"`)
    .replace('"group-00"', `"group-${digits(i % GROUPS, 2)}"`)
    .replace(`"${nodeName(0)}"`, `"${nodeName(node)}"`);
}

function digits(value: number, length: number): string {
  return String(value).padStart(length, '0');
}

function podToSend(name: string) {
  const probe = { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1 };
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      namespace: 'default',
      labels: { app: 'storefront', 'app.kubernetes.io/part-of': 'shop', group: 'group-00', track: 'stable' },
      annotations: { 'bench.longwatch/count': 'count-0000000', 'prometheus.io/scrape': 'true' },
    },
    spec: {
      nodeName: nodeName(0),
      serviceAccountName: 'storefront',
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/shop/storefront:2.41.0',
          args: ['--listen=:8080', '--log-format=json', '--upstream=http://cart.default.svc:8080'],
          ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
          env: [
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'CART_TIMEOUT', value: '2s' },
            { name: 'SEARCH_URL', value: 'http://search.default.svc.cluster.local:8080/v2/query' },
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'FEATURE_FLAGS', value: 'new-checkout,fast-search,no-banner' },
          ],
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } },
          readinessProbe: probe,
          livenessProbe: { ...probe, initialDelaySeconds: 15 },
          volumeMounts: [{ name: 'config', mountPath: '/etc/storefront', readOnly: true }],
        },
        { name: 'proxy', image: 'registry.example.com/mesh/proxy:1.9.3', ports: [{ containerPort: 15001 }] },
      ],
      volumes: [{ name: 'config', configMap: { name: 'storefront-config' } }],
    },
  };
}
