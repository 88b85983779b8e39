/**
 * The load of a cluster without containers, from a process of its own: hollow nodes, controllers that watch everything, pods that
 * come and go. Its parent (cluster.ts) tells it to connect, to begin, and asks what has come of it.
 *
 * Every write is marked with the time it left, and watches that look for the mark say how long its event took; both ends are
 * this process, and how late it is itself is in the report.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  type ClusterShape,
  CONTROLLERS,
  type LoadOrder,
  type LoadReport,
  READS_PER_SECOND,
  servicesOf,
  type UnitsDone,
  WARM_UP_SECONDS,
} from '../../lib/cluster-shape.ts';
import { nodeName, versionIn } from '../load/server-data.ts';
import { ClusterConnection, type Identity } from './cluster-connection.ts';
import { HollowNode } from './hollow-node.ts';
import * as objects from './hollow-objects.ts';
import { Latencies } from './latencies.ts';
import { PodChurn } from './pod-churn.ts';
import { Tally } from './tally.ts';

const AT_ONCE = 32;
const SETTLE_MS = 500;
const LOOK_MS = 5;
/** After so many nodes, the version that watches begin at. */
const LOOK_AGAIN = 500;
/** One proxy in so many looks for marks: to look costs this process more than to count. */
const LISTENING_PROXIES = 20;

const tally = new Tally();
const delay = monitorEventLoopDelay({ resolution: 2 });
let cluster: Awaited<ReturnType<typeof connect>> | undefined;
let beganAtMs = 0;
let beganCpu = process.cpuUsage();

process.on('message', (order: LoadOrder) => {
  obey(order).then(
    (answer) => process.send!(answer),
    (err: unknown) => {
      console.error(err);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));

async function obey(order: LoadOrder): Promise<object> {
  switch (order.kind) {
    case 'connect':
      cluster = await connect(order);
      return {};
    case 'load':
      tally.isRunning = true;
      tally.isPlaying = true;
      await cluster!.begin();
      await new Promise((resolve) => setTimeout(resolve, WARM_UP_SECONDS * 1000));
      tally.begin();
      beganAtMs = performance.now();
      beganCpu = process.cpuUsage();
      delay.enable();
      setTimeout(() => {
        tally.isRunning = false;
        tally.isPlaying = false;
        delay.disable();
      }, cluster!.shape.seconds * 1000);
      return {};
    case 'look':
      return report();
    case 'units':
      return runUnits(order);
  }
}

async function connect({ endpoint, shape }: Extract<LoadOrder, { kind: 'connect' }>) {
  const admin = await ClusterConnection.open(endpoint, identity('system:admin', 'system:masters'));
  await fill(admin, shape);
  // From now on, as who has just listed does: an older state would be told to everybody, and may be compacted meanwhile.
  let version = await newest(admin);
  const from = (path: string) => `${path}?watch=1&allowWatchBookmarks=1&resourceVersion=${version}`;
  const nodes = await inGroups(shape.nodes, async (i) => {
    if (i % LOOK_AGAIN === 0) version = await newest(admin);
    return HollowNode.open(endpoint, i, from, tally, i % LISTENING_PROXIES === 0);
  });
  const controllers = await inGroups(CONTROLLERS, async (i) => {
    const connection = await ClusterConnection.open(endpoint, identity(`system:serviceaccount:kube-system:c${i}`));
    for (const path of Object.values(objects.paths)) {
      await connection.watch(from(path), tally.ears({ isListening: i === 0 }));
      tally.openWatches++;
    }
    return connection;
  });
  const churn = new PodChurn(controllers, shape, tally);
  admin.close();
  const begin = async () => {
    // Not the first one: a connection on which nothing is asked for is closed after a while.
    const reader = await ClusterConnection.open(endpoint, identity('system:admin', 'system:masters'));
    for (const node of nodes) node.begin();
    churn.begin();
    void read(reader, shape);
  };
  return { shape, nodes, churn, begin };
}

async function newest(admin: ClusterConnection): Promise<number> {
  const { body } = await admin.request('GET', `${objects.paths.nodes}?limit=1`);
  return versionIn(Buffer.from(body));
}

/** So many of one thing, and all that follows from them. */
async function runUnits({ of, count }: Extract<LoadOrder, { kind: 'units' }>): Promise<UnitsDone> {
  const { nodes, churn } = cluster!;
  tally.isRunning = true;
  const before = { events: tally.events, eventBytes: tally.eventBytes };
  if (of === 'pod') await churn.lives(count, AT_ONCE / 4);
  else if (of === 'slice') await playSlices(count);
  else {
    for (let at = 0; at < count; at += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => nodes[(at + i) % nodes.length]!.renew()));
  }
  for (let seen = -1; seen !== tally.events; ) {
    seen = tally.events;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
  tally.isRunning = false;
  return { done: count, events: tally.events - before.events, eventBytes: tally.eventBytes - before.eventBytes };
}

/** Each when every proxy has the one before: events of two at once share their way, and are cheaper than one alone. */
async function playSlices(count: number): Promise<void> {
  const { nodes, churn } = cluster!;
  for (let i = 0; i < count; i++) {
    const all = tally.events + nodes.length;
    await churn.slice(i);
    for (let waited = 0; tally.events < all && waited < SETTLE_MS; waited += LOOK_MS)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** What a cluster has besides its pods. */
async function fill(admin: ClusterConnection, shape: ClusterShape): Promise<void> {
  const make = async (path: string, body: object) => {
    const { status, body: answer } = await admin.request('POST', path, body);
    if (status >= 300 && status !== 409) throw new Error(`Cannot make ${path}: ${status} ${answer.slice(0, 500)}`);
  };
  await make('/api/v1/namespaces', { metadata: { name: 'kube-node-lease' } });
  // The range that a server has by default is for 253 services.
  await make('/apis/networking.k8s.io/v1/servicecidrs', {
    metadata: { name: 'cluster' },
    spec: { cidrs: ['10.1.0.0/16'] },
  });
  await inGroups(servicesOf(shape), async (i) => {
    await make(objects.paths.services, objects.service(i));
    await make(objects.paths.slices, objects.slice(i, 0));
  });
  await inGroups(shape.nodes, async (i) => {
    await make(objects.paths.nodes, objects.node(i));
    await make(objects.paths.leases, objects.lease(i));
    await make(objects.paths.configMaps, objects.configMap(i));
    await make(objects.paths.secrets, objects.secret(i));
  });
}

/** Somebody looks at pods. */
async function read(admin: ClusterConnection, { nodes }: ClusterShape): Promise<void> {
  for (let i = 0; tally.isPlaying; i++) {
    const path = `${objects.paths.nodes}/${nodeName((i * 7) % nodes)}`;
    void tally.timed(tally.reads, () => admin.request('GET', path));
    await new Promise((resolve) => setTimeout(resolve, 1000 / READS_PER_SECOND));
  }
}

function report(): LoadReport {
  const writes = new Latencies();
  for (const some of [tally.leases, tally.podWrites, tally.sliceWrites, tally.otherWrites]) writes.addAll(some);
  const { events, eventBytes, refused, failed, goneErrors, cutOff, openWatches } = tally;
  return {
    seconds: Math.min(cluster!.shape.seconds, (performance.now() - beganAtMs) / 1000),
    writes: writes.percentiles(),
    leases: tally.leases.percentiles(),
    podWrites: tally.podWrites.percentiles(),
    sliceWrites: tally.sliceWrites.percentiles(),
    reads: tally.reads.percentiles(),
    eventLatency: tally.eventLatency.percentiles(),
    ...{ events, eventBytes, refused, failed, goneErrors, cutOff, openWatches },
    ownCpuMicros: ownCpuMicros(),
    ownDelayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - 2),
    isOver: beganAtMs > 0 && !tally.isRunning,
  };
}

function ownCpuMicros(): number {
  const { user, system } = process.cpuUsage(beganCpu);
  return user + system;
}

function identity(user: string, ...groups: string[]): Identity {
  return { user, groups: user.startsWith('system:serviceaccount:') ? ['system:serviceaccounts', ...groups] : groups };
}

async function inGroups<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let at = 0; at < count; at += AT_ONCE)
    made.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - at) }, (_, i) => make(at + i)))));
  return made;
}

process.send!({ kind: 'ready' });
