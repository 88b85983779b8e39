/**
 * A large state comes in, by whatever way, and nobody else in the process waits for it: no turn of the event loop is long,
 * whatever hangs on the informer. Objects are frozen here, as they are by default.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AnyObject,
  corev1,
  type InformerOptions,
  KubeClient,
  lazyOf,
  type Resource,
} from '../../src/client/index.ts';
import { type TemporaryDir, temporaryDir } from '../support/temporary-dir.ts';
import { watchTurns } from '../support/turns.ts';
import { canMeter, mainThreadTime } from '../support/victim/process-meter.ts';

const PODS = 50_000;
const MOST_MS = 50;
/** A collection of garbage passes, work that holds the loop does so every time. */
const ROUNDS = 3;

describe.skipIf(!canMeter())(`${PODS} pods come in`, () => {
  let dir: TemporaryDir;
  let server: ChildProcess;
  let client: KubeClient;
  beforeAll(async () => {
    dir = await temporaryDir();
    server = fork(new URL('many-pods-process.ts', import.meta.url), [String(PODS)], { execArgv: ['--import', 'tsx'] });
    const [{ url }] = (await once(server, 'message')) as [{ url: string }];
    client = new KubeClient({ server: new URL(url), namespace: 'default' });
    await client.resource(corev1.pods).list({ allNamespaces: true, limit: 1 }); // what is loaded once holds the loop once
  }, 60_000);
  afterAll(async () => {
    await client?.close();
    server?.kill();
    await dir?.[Symbol.asyncDispose]();
  });

  async function longestTurn(work: () => Promise<void>): Promise<number> {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS && least > MOST_MS; round++) {
      const { longestCpuMs } = await watchTurns(work, () => mainThreadTime(process.pid).cpuMs);
      least = Math.min(least, longestCpuMs);
    }
    return least;
  }

  async function sync(token: Resource, options: InformerOptions<AnyObject>, more?: 'saved' | 'audited'): Promise<void> {
    const all = { allNamespaces: true, indexers: { byApp: ({ metadata }: AnyObject) => [metadata.labels?.app] } };
    await using informer = client.informer<AnyObject>(token, { ...all, ...options });
    let told = 0;
    const handlers = [1, 2].map(() => informer.subscribe(() => void told++));
    await informer.synced();
    handlers.push(informer.subscribe(() => void told++));
    for (const handler of handlers) await handler.synced();
    expect([informer.size, told, informer.by('byApp', 'web-7').length]).toEqual([PODS, 3 * PODS, PODS / 100]);
    if (more === 'saved') await informer.saved();
    if (more === 'audited') expect(await informer.audit()).toMatchObject({ objects: PODS, divergent: [] });
  }

  const pages = { useWatchList: false };
  it.each<[string, Resource, InformerOptions<AnyObject>]>([
    ['as a stream', corev1.pods, {}],
    ['as a stream, lazy', lazyOf(corev1.pods), {}],
    ['in pages', corev1.pods, { reflector: pages }],
    ['in one answer', corev1.pods, { reflector: { ...pages, initialRead: 'any' } }],
  ])('%s, and no turn is long', async (_how, token, options) => {
    expect(await longestTurn(() => sync(token, options))).toBeLessThan(MOST_MS);
  });

  it('into a checkpoint and out of it, and are audited, and no turn is long', async () => {
    const checkpoint = join(dir.path, 'pods');
    expect(await longestTurn(() => sync(corev1.pods, { checkpoint }, 'saved'))).toBeLessThan(MOST_MS);
    expect(await longestTurn(() => sync(corev1.pods, { checkpoint }, 'audited'))).toBeLessThan(MOST_MS);
  });
});
