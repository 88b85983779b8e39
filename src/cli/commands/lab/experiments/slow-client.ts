/** A client that reads slowly while the store is compacted: its place in the history is gone before it gets there. */
import { corev1, isExpired } from '../../../../client/index.ts';
import type { TestServerOptions } from '../../../../testing/index.ts';
import { type Experiment, type Lab, rest, type Side, stoppable, until } from '../experiment.ts';

/** More than all buffers between the two hold. */
const CHANGES = 150;
const BYTES = 300_000;

export const slowClient: Experiment = {
  name: 'slow-client',
  title: 'compaction overtakes a client that reads slowly',
  story: [
    'A client opens a watch and does not read for a while: it is busy, or its network is slow. All buffers fill up.',
    'The server lets it fall behind and would read on for it from its log; but the log is compacted meanwhile.',
  ],
  remedy: 'a retention that is longer than the slowest client takes: --auto-compaction-retention 5m',
  async run(lab) {
    lab.say('one second of history');
    const short: TestServerOptions = {
      watchCacheSizes: { configmaps: 0 },
      autoCompaction: { mode: 'periodic', retentionMs: 1000 },
    };
    const bad = await readLate(lab, short, true);
    lab.say('five minutes of history');
    const good = await readLate(lab, { watchCacheSizes: { configmaps: 0 } }, false);
    return {
      without: bad.side,
      with: good.side,
      promises: [
        { claim: 'without it the watch ends with 410 in the middle', isSeen: bad.isExpired && bad.heard < CHANGES },
        { claim: 'with it the slow client gets every change', isSeen: !good.isExpired && good.heard === CHANGES },
      ],
    };
  },
};

type Result = { side: Side; isExpired: boolean; heard: number };

async function readLate(lab: Lab, options: TestServerOptions, waitsForCompaction: boolean): Promise<Result> {
  const server = await lab.server(options);
  const [writer, reader] = [await lab.client(server), await lab.client(server)];
  const maps = writer.resource(corev1.configMaps);
  const first = await maps.create({ metadata: { name: 'big' } }, { signal: lab.signal });
  const { signal, stop } = stoppable(lab);
  let open: () => void = () => {};
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const version = first.metadata.resourceVersion ?? '';
  const watch = reader.watch(corev1.configMaps, {
    resourceVersion: version,
    signal,
    onOpen: () => open(),
    idleTimeoutMs: 0,
  });
  const firstEvent = watch.next(); // and after it nothing is read
  await isOpen;
  const filler = 'x'.repeat(BYTES);
  let last = version;
  for (let n = 1; n <= CHANGES; n++) {
    const { metadata } = await maps.update(
      { metadata: { name: 'big' }, data: { n: String(n), filler } },
      { signal: lab.signal },
    );
    last = metadata.resourceVersion ?? '';
    lab.plot('MB that wait for the client', (n * BYTES) / 1e6);
  }
  // Compacted behind the back of the client, where the retention is short; else a while passes.
  if (waitsForCompaction) await until(lab, () => isGone(lab, writer, last));
  else await rest(lab, 2000);
  let heard = 0;
  let error: unknown;
  try {
    for (let result = await firstEvent; !result.done; result = await watch.next()) {
      if (result.value.type !== 'BOOKMARK') heard++;
      lab.plot('changes it has read', heard);
      if (heard === CHANGES) break;
    }
  } catch (err) {
    lab.signal.throwIfAborted();
    if (!isExpired(err)) throw err;
    error = err;
  } finally {
    stop();
    await watch.return().catch(() => {});
  }
  return {
    isExpired: error !== undefined,
    heard,
    side: {
      rows: [
        ['changes while it does not read', `${CHANGES}, ${Math.round((CHANGES * BYTES) / 1e6)} MB`],
        ['changes it is told of', String(heard)],
        ['how the watch ends', error ? '410 in the stream' : 'not at all'],
      ],
      seen: error ? [`watch of configmaps ended with: ${(error as Error).message}`] : [],
    },
  };
}

/** Whether the history before this version is compacted: a watch from the one before it is refused. */
async function isGone(lab: Lab, client: Awaited<ReturnType<Lab['client']>>, version: string): Promise<boolean> {
  const { signal, stop } = stoppable(lab);
  try {
    const before = String(Number(version) - 2);
    for await (const _ of client.watch(corev1.configMaps, { resourceVersion: before, signal })) return false;
    return false;
  } catch (err) {
    lab.signal.throwIfAborted();
    return isExpired(err);
  } finally {
    stop();
  }
}
