/**
 * One user floods a server of 10,000 objects, and the administrator reads one of them all the while, from a process of
 * its own. What counts is what the server does for others before it answers, in CPU time, and the unit is what one list of
 * everything takes when nobody else is there: neither the speed nor the load of the machine is in the claim.
 */
import { Agent, request } from 'node:https';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEtcdStore } from '../../../../src/store/index.ts';
import { type TemporaryDir, temporaryDir } from '../../../support/temporary-dir.ts';
import { canMeter } from '../../../support/victim/process-meter.ts';
import { type ServerReady, ServerTarget, startServerVictim } from '../../../support/victim/server-target.ts';
import type { Victim } from '../../../support/victim/victim.ts';

const MAPS = '/api/v1/namespaces/flood/configmaps';
const OBJECTS = 10_000;
const PUTS_PER_TXN = 100;
const READS = 300;
const PAUSE_MS = 3;
/**
 * What may be done before the slowest read in a hundred, and before any but one (which may have met a collection of all
 * garbage), in lists of everything: one is about 16 ms.
 */
const P99_LISTS = 3;
const WORST_LISTS = 6;
const TEST_MS = 240_000;
const LOUD = { 'impersonate-user': 'loud' };

describe.skipIf(!canMeter())('the administrator reads while one user floods with', () => {
  let dir: TemporaryDir;
  let victim: Victim<ServerReady>;
  let target: ServerTarget;
  let quietMs: readonly number[];
  let listMs: number;

  beforeAll(async () => {
    dir = await temporaryDir();
    victim = await startServerVictim(dir.path);
    target = new ServerTarget(victim.ready);
    await target.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'flood' } } });
    const rights = {
      metadata: { name: 'loud' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'loud' }],
    };
    await target.must({
      method: 'POST',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      body: rights,
    });
    await fill(target);
    const headers = target.authorization();
    victim.probe({ path: MAPS, headers });
    listMs = median(await victim.cpusMs(10));
    victim.probe({ path: `${MAPS}/map-00042`, headers, pauseMs: PAUSE_MS });
    quietMs = await victim.cpusMs(READS, 'beforeAnswerMs');
  }, TEST_MS);
  // What the flood before has left, its connections that close, is not this one's.
  beforeEach(async () => {
    await victim.cpusMs(READS / 3, 'beforeAnswerMs');
  }, TEST_MS);
  afterAll(async () => {
    await victim?.[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });

  it.each<[flood: string, workers: number, path: string, headers?: Record<string, string>]>([
    ['200 lists of 10,000 objects at a time', 200, MAPS],
    ['200 tables of 10,000 objects at a time', 200, MAPS, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }],
    ['200 lists with a selector that nothing matches', 200, `${MAPS}?labelSelector=a%3Db,c+notin+(d,e),f`],
    [
      '1,000 watch-lists',
      1000,
      `${MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1`,
    ],
  ])(
    '%s',
    async (_flood, workers, path, headers = {}) => {
      await using _ = flood(target, workers, path, { ...LOUD, ...headers });
      judge(await victim.cpusMs(READS, 'beforeAnswerMs'));
    },
    TEST_MS,
  );

  it(
    'bodies that never end',
    async () => {
      await using _ = endlessBodies(target, 200);
      judge(await victim.cpusMs(READS, 'beforeAnswerMs'));
    },
    TEST_MS,
  );

  function judge(cpus: readonly number[]): void {
    const figures = `reads: ${summary(cpus)}; quiet: ${summary(quietMs)}; one list: ${listMs.toFixed(1)}`;
    if (process.env.FLOOD_REPORT) console.log(figures);
    expect(median(cpus), figures).toBeLessThan(listMs / 2 + median(quietMs));
    expect(at(cpus, 0.99), figures).toBeLessThan(P99_LISTS * listMs);
    expect(cpus.at(-2)!, figures).toBeLessThan(WORST_LISTS * listMs);
  }
});

/** Straight into the store: copies of one that the server made. */
async function fill(target: ServerTarget): Promise<void> {
  const data = { text: 'x'.repeat(600), more: 'y'.repeat(300) };
  const { body } = await target.must({ method: 'POST', path: MAPS, body: { metadata: { name: 'map-first' }, data } });
  const made = body.toString().trimEnd();
  await using store = await openEtcdStore({ endpoints: [target.etcdUrl] });
  for (let from = 0; from < OBJECTS; from += PUTS_PER_TXN)
    await store.txn({
      then: Array.from({ length: PUTS_PER_TXN }, (_, i) => {
        const name = `map-${String(from + i).padStart(5, '0')}`;
        const value = Buffer.from(made.replace('map-first', name).replace(/,"resourceVersion":"\d+"/, ''));
        return { kind: 'put', key: `/registry/configmaps/flood/${name}`, value } as const;
      }),
    });
}

/** So many requests at a time, again and again; what comes is not looked at. */
function flood(target: ServerTarget, workers: number, path: string, headers: Record<string, string>): AsyncDisposable {
  const agent = new Agent({ keepAlive: true, ca: target.ca });
  const all = { ...target.authorization(), ...headers };
  let isOver = false;
  const ask = () =>
    new Promise<void>((resolve) => {
      const sent = request(target.url + path, { agent, headers: all }, (response) => {
        response.resume();
        response.once('close', resolve);
      });
      sent.once('error', () => resolve());
      sent.end();
    });
  const running = Array.from({ length: workers }, async () => {
    while (!isOver) await ask();
  });
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      agent.destroy();
      await Promise.all(running);
    },
  };
}

/** Each sends a little of a body whenever the one before has left, and never says that it is over. */
function endlessBodies(target: ServerTarget, workers: number): AsyncDisposable {
  const agent = new Agent({ keepAlive: true, ca: target.ca });
  const headers = { ...target.authorization(), ...LOUD, 'content-type': 'application/json' };
  let isOver = false;
  const send = () =>
    new Promise<void>((resolve) => {
      const sent = request(target.url + MAPS, { method: 'POST', agent, headers }, (response) => response.resume());
      const more = () => {
        if (isOver || sent.destroyed) return;
        sent.write(PIECE, () => setTimeout(more, 5));
      };
      sent.once('error', () => resolve());
      sent.once('close', resolve);
      sent.write('{"metadata":{"name":"endless"},"data":{"text":"');
      more();
    });
  const running = Array.from({ length: workers }, async () => {
    while (!isOver) await send();
  });
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      agent.destroy();
      await Promise.all(running);
    },
  };
}

const PIECE = 'x'.repeat(4096);

function at(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

function median(sorted: readonly number[]): number {
  return at(sorted, 0.5);
}

function summary(sorted: readonly number[]): string {
  const [half, most, all] = [median(sorted), at(sorted, 0.99), sorted.at(-1)!].map((ms) => ms.toFixed(1));
  return `median ${half}, p99 ${most}, worst ${all} ms`;
}
