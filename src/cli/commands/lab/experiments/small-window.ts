/** A history that is too short for the time clients are away: they are told 410 and list everything again. */
import { corev1, isExpired, type KubeClient } from '../../../../client/index.ts';
import type { TestServerOptions } from '../../../../testing/index.ts';
import { type Experiment, type Lab, type Side, stoppable, until } from '../experiment.ts';

/** So much is there, and has to be listed again. */
const OBJECTS = 100;
const CHANGES = 60;

export const smallWindow: Experiment = {
  name: 'small-window',
  title: 'the history is too short for the time a client is away',
  story: [
    'A client watches, loses its connection for a moment, and comes back with the last version it has seen.',
    'The server keeps one second of history and no watch cache for this resource: what came in between is gone.',
  ],
  remedy: '--auto-compaction-retention 5m and the watch cache, as they are by default',
  async run(lab) {
    const short: TestServerOptions = {
      watchCacheSizes: { configmaps: 0 },
      autoCompaction: { mode: 'periodic', retentionMs: 1000 },
    };
    lab.say('one second of history');
    const bad = await away(lab, short, true);
    lab.say('five minutes of history, and the watch cache');
    const good = await away(lab, {}, false);
    return {
      without: bad.side,
      with: good.side,
      promises: [
        {
          claim: 'without it the client is told 410 and lists everything again',
          isSeen: bad.isExpired && bad.listed >= OBJECTS,
        },
        {
          claim: 'with it the client goes on: every change, nothing listed',
          isSeen: !good.isExpired && good.heard >= CHANGES && good.listed === 0,
        },
      ],
    };
  },
};

type Result = { side: Side; isExpired: boolean; heard: number; listed: number };

async function away(lab: Lab, options: TestServerOptions, waitsForExpiry: boolean): Promise<Result> {
  const server = await lab.server(options);
  const client = await lab.client(server);
  const maps = client.resource(corev1.configMaps);
  for (let i = 0; i < OBJECTS; i++) await maps.create({ metadata: { name: `o-${i}` } }, { signal: lab.signal });
  const { metadata } = await maps.list({ limit: 1, signal: lab.signal });
  const version = metadata.resourceVersion ?? '';
  const began = performance.now();
  let changes = 0;
  const change = async () => {
    const data = { n: String(++changes) };
    await maps.apply({ metadata: { name: 'o-0' }, data }, { fieldManager: 'lab', force: true, signal: lab.signal });
    lab.plot('changes while it is away', changes);
  };
  while (changes < CHANGES) await change();
  let error = await resume(lab, client, version, () => {}, 1);
  // Compaction comes by itself: writes go on until it has passed the version.
  if (waitsForExpiry)
    await until(lab, async () => {
      await change();
      error = await resume(lab, client, version, () => {}, 1);
      return error !== undefined;
    });
  const awayMs = performance.now() - began;
  let heard = 0;
  error = await resume(lab, client, version, () => heard++, changes);
  const listed = isExpired(error) ? (await maps.list({ signal: lab.signal })).items.length : 0;
  return {
    isExpired: isExpired(error),
    heard,
    listed,
    side: {
      rows: [
        ['away for', `${(awayMs / 1000).toFixed(1)} s, ${changes} changes`],
        ['answer to the watch', error ? `410 ${(error as { reason?: string }).reason}` : '200'],
        ['changes it is told of', String(heard)],
        ['objects listed again', String(listed)],
      ],
      seen: error ? [`watch of configmaps ended with: ${(error as Error).message}`] : [],
    },
  };
}

/** Reads so many events from the version on; undefined, or what it was refused with. */
async function resume(
  lab: Lab,
  client: KubeClient,
  version: string,
  each: () => void,
  events: number,
): Promise<unknown> {
  const { signal, stop } = stoppable(lab);
  let count = 0;
  try {
    for await (const { type } of client.watch(corev1.configMaps, { resourceVersion: version, signal })) {
      if (type === 'BOOKMARK') continue;
      each();
      if (++count >= events) break;
    }
    return undefined;
  } catch (err) {
    lab.signal.throwIfAborted();
    if (!isExpired(err)) throw err;
    return err;
  } finally {
    stop();
  }
}
