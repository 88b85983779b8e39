/** A server that restarts, and all its clients at once: those that list again and again, and those that resume. */
import { corev1, type KubeClient } from '../../../../client/index.ts';
import type { TestServer } from '../../../../testing/index.ts';
import { type Experiment, type Lab, rest, type Side, stoppable, until } from '../experiment.ts';

const CLIENTS = 25;
const OBJECTS = 200;

export const restartStorm: Experiment = {
  name: 'restart-storm',
  title: `${CLIENTS} clients when the server restarts`,
  story: [
    `${CLIENTS} clients watch ${OBJECTS} objects. The server restarts, as it does with every upgrade.`,
    'Clients that begin anew list everything, all at once, and knock without a pause while the server is away.',
  ],
  remedy: 'clients that resume at their last version, and wait between tries, each for another while',
  async run(lab) {
    lab.say('clients that begin anew');
    const bad = await storm(lab, naive);
    lab.say('clients that resume');
    const good = await storm(lab, resuming);
    return {
      without: bad.side,
      with: good.side,
      promises: [
        { claim: 'without it every client lists everything again', isSeen: bad.lists >= CLIENTS },
        {
          claim: 'with it nobody lists, and far fewer requests are made',
          isSeen: good.lists === 0 && good.requests < bad.requests,
        },
        { claim: 'both hear of the change after the restart', isSeen: bad.isWhole && good.isWhole },
      ],
    };
  },
};

type Follower = { readonly versions: Set<string>; isWatching: boolean; lastError: string };
type Follow = (client: KubeClient, follower: Follower, signal: AbortSignal) => Promise<void>;

async function storm(
  lab: Lab,
  follow: Follow,
): Promise<{ side: Side; lists: number; requests: number; isWhole: boolean }> {
  const server: TestServer = await lab.server({});
  const writer = await lab.client(server);
  const maps = writer.resource(corev1.configMaps);
  for (let i = 0; i < OBJECTS; i++) await maps.create({ metadata: { name: `o-${i}` } }, { signal: lab.signal });
  const { signal, stop } = stoppable(lab);
  let [lists, requests, failed, isCounting] = [0, 0, 0, false];
  const followers: Follower[] = [];
  const running: Promise<void>[] = [];
  for (let i = 0; i < CLIENTS; i++) {
    const client = await lab.client(server);
    client.transport.observers.add({
      onRequest: ({ verb, code }) => {
        if (!isCounting) return;
        requests++;
        if (verb === 'LIST' && code === 200) lists++;
        if (code === undefined || code === 0) failed++;
        lab.plot('requests since the restart', requests);
      },
    });
    const follower: Follower = { versions: new Set(), isWatching: false, lastError: '' };
    followers.push(follower);
    running.push(follow(client, follower, signal).catch(() => {}));
  }
  await until(lab, () => followers.every(({ isWatching }) => isWatching));
  isCounting = true;
  for (const follower of followers) follower.isWatching = false;
  const began = performance.now();
  await server.stop();
  await rest(lab, 500); // what a restart takes
  await server.start();
  const again = await lab.client(server);
  const changed = await again
    .resource(corev1.configMaps)
    .create({ metadata: { name: 'after' } }, { signal: lab.signal });
  const version = changed.metadata.resourceVersion ?? '';
  await until(lab, () => followers.every(({ versions }) => versions.has(version)));
  const seconds = (performance.now() - began) / 1000;
  stop();
  await Promise.all(running);
  return {
    lists,
    requests,
    isWhole: true,
    side: {
      rows: [
        ['requests because of the restart', `${requests}, ${failed} of them in vain`],
        ['lists', `${lists}, ${lists * OBJECTS} objects`],
        ['all clients are whole again after', `${seconds.toFixed(1)} s`],
      ],
      seen: followers
        .map(({ lastError }) => lastError)
        .filter((text) => text !== '')
        .slice(0, 1),
    },
  };
}

/** As many programs are written: from the beginning, at once. */
const naive: Follow = async (client, follower, signal) => {
  const { setTimeout: sleep } = await import('node:timers/promises');
  while (!signal.aborted) {
    try {
      const list = await client.resource(corev1.configMaps).list({ signal });
      for (const { metadata } of list.items) follower.versions.add(metadata.resourceVersion ?? '');
      const options = {
        resourceVersion: list.metadata.resourceVersion ?? '',
        signal,
        onOpen: () => opened(follower),
      };
      for await (const { object } of client.watch(corev1.configMaps, options))
        follower.versions.add(object.metadata.resourceVersion ?? '');
    } catch (err) {
      if (signal.aborted) return;
      follower.lastError = (err as Error).message;
    }
    await sleep(10, undefined, { signal }).catch(() => {});
  }
};

const resuming: Follow = async (client, follower, signal) => {
  const list = await client.resource(corev1.configMaps).list({ limit: 1, signal });
  const options = {
    resourceVersion: list.metadata.resourceVersion ?? '',
    signal,
    onOpen: () => opened(follower),
  };
  for await (const { object } of client.watchResuming(corev1.configMaps, options))
    follower.versions.add(object.metadata.resourceVersion ?? '');
};

function opened(follower: Follower): void {
  follower.isWatching = true;
}
