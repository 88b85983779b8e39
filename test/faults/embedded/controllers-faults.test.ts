/**
 * The garbage collector and the namespace controller under a load of random writes: in a process of their own, which is
 * killed at random, behind a proxy that cuts, stalls and lies; and beside a server that is killed itself. In the end
 * exactly what should be gone is gone.
 *
 * What should be gone is said by a model that is told every write. It is asked for nothing that depends on who is faster:
 * writes are about objects that it takes for living, and only owners whose dependents have no other are orphaned.
 * `FAULT_SEED=n` repeats one run, `FAULT_SCHEDULES=n` runs as many.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type AnyObject, corev1, KubeClient, KubeConfig, type Resource } from '../../../src/client/index.ts';
import { type FaultProxy, startFaultProxy, startTestServer, type Which } from '../../../src/testing/index.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';
import { Random } from '../../support/random.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/longwatch.js', import.meta.url));
const FIRST = Number(process.env.FAULT_SEED ?? 1);
const SEEDS = Array.from({ length: Number(process.env.FAULT_SCHEDULES ?? 1) }, (_, i) => FIRST + i);
const STEPS = 250;
const KINDS: readonly Resource<AnyObject>[] = [corev1.configMaps, corev1.secrets];
type Policy = 'Background' | 'Foreground' | 'Orphan';

/** An object as it should be. */
type Known = {
  object: AnyObject;
  resource: Resource<AnyObject>;
  namespace: string;
  owners: Set<string>;
  isShared: boolean;
};

class Model {
  readonly living = new Map<string, Known>();
  readonly namespaces = new Set<string>();

  add(known: Known): void {
    this.living.set(known.object.metadata.uid, known);
  }

  dependentsOf(uid: string): Known[] {
    return [...this.living.values()].filter(({ owners }) => owners.has(uid));
  }

  remove(uid: string, policy: Policy): void {
    const dependents = this.dependentsOf(uid);
    this.living.delete(uid);
    for (const dependent of dependents) {
      dependent.owners.delete(uid);
      if (policy !== 'Orphan' && dependent.owners.size === 0) this.remove(dependent.object.metadata.uid, policy);
    }
  }

  removeNamespace(name: string): void {
    this.namespaces.delete(name);
    for (const [uid, { namespace }] of this.living) if (namespace === name) this.living.delete(uid);
  }

  names(): string[] {
    const named = [...this.living.values()].map(({ object, resource, namespace }) => show(resource, namespace, object));
    return named.sort();
  }
}

const show = ({ kind }: Resource, namespace: string | undefined, { metadata }: AnyObject) =>
  `${kind} ${namespace}/${metadata.name}`;

/** Everything of ours that the server has; what is being deleted is not gone. */
async function stored(client: KubeClient): Promise<string[]> {
  const lists = await Promise.all(
    KINDS.map(async (resource) =>
      (await client.resource(resource).list({ allNamespaces: true, labelSelector: { load: 'yes' } })).items.map(
        (object) => show(resource, object.metadata.namespace, object),
      ),
    ),
  );
  return lists.flat().sort();
}

/** `isAwaited`: until it is at work, or for five seconds, since what it asks may be refused. */
async function startProcess(proxy: FaultProxy, isAwaited: boolean): Promise<ChildProcess> {
  const args = [PROGRAM, 'controllers', '--kubeconfig', proxy.kubeconfigPath, '--leader-elect=false'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const patience = AbortSignal.timeout(5_000);
  if (isAwaited) await once(child.stdout, 'data', { signal: patience }).catch(() => {});
  child.stdout.resume();
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  child.kill('SIGKILL');
  await exited;
}

function breakSomething(proxy: FaultProxy, random: Random): void {
  const faults: (() => unknown)[] = [
    () => proxy.cut('watch'),
    () => proxy.cut('any'),
    () => proxy.stall('watch'),
    // One kind is seen and the other is not: owners that the cache does not know.
    ...KINDS.flatMap(({ plural }) => {
      const ofKind: Which = ({ kind, path }) => kind === 'watch' && path.includes(`/${plural}`);
      return [() => proxy.stall(ofKind), () => proxy.stall(ofKind), () => proxy.cut(ofKind)];
    }),
    () => proxy.end('watch'),
    () => proxy.truncate('watch'),
    () => proxy.garble('watch'),
    () => proxy.sendError('watch', 410),
    () => proxy.answer({ code: 503, to: 'any', times: 1 + random.below(10) }),
    () => proxy.answer({ code: 500, to: ({ method }) => method !== 'GET', times: 1 + random.below(5) }),
  ];
  random.pick(faults)();
}

/** A server, controllers of it, and what may become of them. */
type Ground = AsyncDisposable & {
  readonly client: KubeClient;
  breakSomething(random: Random): void;
  /** `kill -9`, and another in its place. */
  kill(random: Random): Promise<void>;
  /** What is stalled is found out now and not in minutes. */
  heal(): void;
};

async function controllersApart(): Promise<Ground> {
  const server = await startTestServer();
  const client = await adminOf(server);
  const proxy = await startFaultProxy(server);
  let child = await startProcess(proxy, true);
  return {
    client,
    breakSomething: (random) => breakSomething(proxy, random),
    async kill(random) {
      await kill(child);
      child = await startProcess(proxy, random.chance(0.7));
    },
    heal() {
      proxy.heal();
      proxy.cut();
    },
    async [Symbol.asyncDispose]() {
      await kill(child);
      await proxy[Symbol.asyncDispose]();
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function controllersBeside(): Promise<Ground> {
  const dataDir = mkdtempSync(join(tmpdir(), 'longwatch-beside-'));
  let port = '0';
  const start = async () => {
    const args = [PROGRAM, 'serve', '--data-dir', dataDir, '--secure-port', port];
    const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await Promise.race([once(started.stdout, 'data'), once(started, 'exit')])) as [unknown];
    port = /:(\d+) kubeconfig/.exec(String(line))?.[1] ?? '';
    if (port === '') throw new Error(`Cannot start the server: ${String(line)}`);
    started.stdout.resume();
    return started;
  };
  let child = await start();
  const config = await KubeConfig.load({ paths: [join(dataDir, 'admin.kubeconfig')] });
  const client = new KubeClient(config.access({ env: {} }));
  return {
    client,
    breakSomething() {},
    async kill() {
      await kill(child);
      child = await start();
    },
    heal() {},
    async [Symbol.asyncDispose]() {
      await client.close();
      await kill(child);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const runs = SEEDS.flatMap((seed) => [
  { seed, where: 'apart', open: controllersApart },
  { seed, where: 'beside', open: controllersBeside },
]);

it.each(runs)('$where, seed $seed: exactly what should be gone is gone', { timeout: 180_000 }, async (run) => {
  const random = new Random(run.seed);
  await using ground = await run.open();
  const { client } = ground;
  const model = new Model();
  let count = 0;
  const newNamespace = async () => {
    const name = `n${count++}`;
    await client.resource(corev1.namespaces).create({ metadata: { name } });
    model.namespaces.add(name);
  };
  const create = async () => {
    const namespace = random.pick([...model.namespaces]);
    const inside = [...model.living.values()].filter((known) => known.namespace === namespace);
    const owners = random.chance(0.7) ? random.some(inside, 1, 2) : [];
    const resource = random.pick(KINDS);
    const ownerReferences = owners.map(({ object, resource: { apiVersion, kind } }) => ({
      ...{ apiVersion, kind, name: object.metadata.name, uid: object.metadata.uid },
      ...(random.chance(0.5) && { blockOwnerDeletion: true }),
    }));
    const metadata = { name: `o${count++}`, labels: { load: 'yes' }, ownerReferences };
    const object = await client.resource(resource, namespace).create({ metadata });
    const uids = new Set(owners.map((owner) => owner.object.metadata.uid));
    model.add({ object, resource, namespace, owners: uids, isShared: uids.size > 1 });
  };
  const remove = async () => {
    const victim = random.pick([...model.living.values()]);
    const { uid, name } = victim.object.metadata;
    const mayOrphan = model.dependentsOf(uid).every(({ isShared }) => !isShared);
    const propagationPolicy = random.pick<Policy>(['Background', 'Foreground', mayOrphan ? 'Orphan' : 'Background']);
    await client.resource(victim.resource, victim.namespace).delete(name, { propagationPolicy });
    model.remove(uid, propagationPolicy);
  };
  for (let i = 0; i < 3; i++) await newNamespace();
  for (let step = 0; step < STEPS; step++) {
    const dice = random.next();
    if (dice < 0.02) {
      const name = random.pick([...model.namespaces]);
      await client.resource(corev1.namespaces).delete(name);
      model.removeNamespace(name);
      await newNamespace();
    } else if (dice < 0.25 && model.living.size > 0) await remove();
    else await create();
    if (random.chance(0.04)) ground.breakSomething(random);
    if (random.chance(0.012)) await ground.kill(random);
  }
  ground.heal();
  const settled = async () => (await stored(client)).join('\n') === model.names().join('\n');
  await until(settled);
  const left = async () => (await client.resource(corev1.namespaces).list()).items.map(({ metadata }) => metadata.name);
  await until(async () => (await left()).filter((name) => /^n\d/.test(name)).length === model.namespaces.size);
  // Whatever is judged later than this has nothing left to judge: strays of every kind are gone first.
  const nobody = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'nobody' }];
  for (const name of model.namespaces)
    for (const resource of KINDS)
      await client
        .resource(resource, name)
        .create({ metadata: { name: 'stray', labels: { load: 'yes' }, ownerReferences: nobody } });
  await until(async () => !(await stored(client)).some((name) => name.endsWith('/stray')));
  expect(await stored(client)).toEqual(model.names());
  for (const { object, resource, namespace } of model.living.values()) {
    const { metadata } = await client.resource(resource, namespace).get(object.metadata.name);
    expect([metadata.uid, metadata.deletionTimestamp]).toEqual([object.metadata.uid, undefined]);
  }
  expect((await left()).filter((name) => /^n\d/.test(name)).sort()).toEqual([...model.namespaces].sort());
});
