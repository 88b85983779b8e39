/**
 * Progress that survives: a process is killed, starts again, and is told what happened while it was not there.
 *
 * The informer keeps its copy, and how far it came, in a file. Started again it has its objects at once, from the disk,
 * goes on where it was without reading everything anew, and tells the difference, deletions too. Even when the server has
 * forgotten that part of history: then it reads everything and compares. What was not handled when the process died is
 * told again: at least once, never not at all. Use it where missing a change is not an option, or a full read is dear.
 * For a stream without a copy there is `client.watchFrom` with a `versionCheckpoint`.
 *
 *     npm run examples -- persistent-progress      against a fresh server of ours
 *     npx tsx examples/persistent-progress.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, corev1, isExpired, type KubeClient, mergePatch, type WatchOptions } from 'longwatch/client';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

/** What the follower, a process of its own, knows of itself. */
type Report = { told: string[]; objects: number; restored: number; lists: number; version: string };

const [role, namespace = '', file = ''] = process.argv.slice(2);
await runExample((signal) => (role === 'follow' ? follow(signal) : main(signal)));

async function follow(signal: AbortSignal): Promise<void> {
  await using client = await connect();
  const labelSelector = { app: 'keys' };
  await using informer = client.informer(corev1.secrets, {
    namespace,
    labelSelector,
    checkpoint: { file, flushMs: 50 },
  });
  process.once('disconnect', () => process.exit()); // never without a parent
  const told: string[] = [];
  await using _telling = informer.subscribe((event) => {
    if (event.type !== 'added' || !event.isInitial) told.push(`${event.type} ${event.object.metadata.name}`);
  });
  for await (const _snapshot of informer.snapshots({ signal })) {
    await informer.saved(signal); // from here on it may be killed: what was told is not told again
    const { objects, lists, checkpoint } = informer.metrics;
    const version = informer.resourceVersion!;
    process.send!({ told, objects, restored: checkpoint!.restored, lists, version } satisfies Report);
  }
}

async function main(signal: AbortSignal): Promise<void> {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'persistent-progress');
  const folder = await mkdtemp(join(tmpdir(), 'persistent-progress-'));
  try {
    await tell(client, scratch.name, join(folder, 'keys.checkpoint'), signal);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function tell(client: KubeClient, inNamespace: string, checkpoint: string, signal: AbortSignal): Promise<void> {
  const keys = client.resource(corev1.secrets, inNamespace);
  const add = (name: string) => keys.create({ metadata: { name, labels: { app: 'keys' } } }, { signal });
  const change = (name: string) => keys.patch(name, mergePatch({ stringData: { at: `${Date.now()}` } }), { signal });
  /** Starts a follower, waits until it reports what is wanted, and kills it in the middle of whatever it does. */
  const followUntil = async (isEnough: (report: Report) => boolean): Promise<Report> => {
    const follower = fork(fileURLToPath(import.meta.url), ['follow', inNamespace, checkpoint]);
    try {
      return await reportOf(follower, isEnough, signal);
    } finally {
      follower.kill('SIGKILL');
      if (follower.exitCode === null && follower.signalCode === null) await once(follower, 'exit');
    }
  };
  const show = (who: string, { restored, lists, told }: Report) =>
    console.log(
      `${who}: ${restored} keys from the disk, ${lists} complete reads; ${told.join(', ') || 'nothing to tell'}`,
    );

  for (const name of ['door', 'gate', 'safe']) await add(name);
  const first = await followUntil(({ objects }) => objects === 3);
  show('the first', first);

  await change('gate');
  await keys.delete('safe', { signal });
  await add('shed');
  const second = await followUntil(({ told }) => told.length === 3);
  show('the second', second);
  assert.equal(second.restored, 3);
  assert.deepEqual(second.told.toSorted(), ['added shed', 'deleted safe', 'updated gate']);
  // A machine that is slow enough finds that our server in CI has forgotten this already.
  if (!(await isHistoryGone(client, { namespace: inNamespace, resourceVersion: first.version, signal })))
    assert.equal(second.lists, 0, 'it went on where the first one was');

  await change('door');
  await keys.delete('gate', { signal });
  await add('attic');
  // Our server in CI forgets after seconds. Others keep their history for minutes; that is not waited for.
  const where = { namespace: inNamespace, resourceVersion: second.version, signal };
  let isGone = await isHistoryGone(client, where);
  for (let seconds = 0; seconds < 20 && !isGone; seconds++) {
    await delay(1000, undefined, { signal });
    isGone = await isHistoryGone(client, where);
  }
  console.log(`the server ${isGone ? 'has forgotten' : 'still knows'} what happened after ${second.version}`);
  const news = ['updated door', 'deleted gate', 'added attic'];
  const third = await followUntil(({ told }) => news.every((one) => told.includes(one)));
  show('the third', third);
  if (isGone) assert.equal(third.lists, 1, 'if history is gone it reads everything and compares');
  assert.equal(third.objects, (await keys.list({ labelSelector: { app: 'keys' }, signal })).items.length);
}

async function reportOf(child: ChildProcess, isEnough: (report: Report) => boolean, signal: AbortSignal) {
  for await (const [report] of on(child, 'message', { signal, close: ['exit'] }) as AsyncIterable<[Report]>)
    if (isEnough(report)) return report;
  throw new Error('The follower ended by itself');
}

async function isHistoryGone(client: KubeClient, where: WatchOptions): Promise<boolean> {
  try {
    for await (const _event of client.watch(corev1.secrets, { ...where, timeoutSeconds: 1 })) break;
    return false;
  } catch (err) {
    if (!isExpired(err)) throw err;
    return true;
  }
}
