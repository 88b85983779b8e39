/** A connection that something on the way has forgotten: it looks quiet, and is dead. */
import { corev1 } from '../../../../client/index.ts';
import { startFaultProxy } from '../../../../testing/index.ts';
import { type Experiment, type Lab, rest, type Side, stoppable, until } from '../experiment.ts';

const CHANGES = 10;
/** The limit on silence that the remedy has here; that of a client is 75 s, a little more than a minute between bookmarks. */
const SILENCE_MS = 3000;
/** How long nothing is waited for, without the remedy. */
const PATIENCE_MS = 8000;

export const halfOpen: Experiment = {
  name: 'half-open',
  title: 'a connection that is dead, and nobody was told',
  story: [
    'A client watches through something that forgets connections: a NAT, a load balancer, a node that lost its power.',
    'No packet says so. The client waits for events that will not come, and looks healthy.',
  ],
  remedy: `a limit on silence (here ${SILENCE_MS / 1000} s, our client has 75 s): then the stream is opened again where it was`,
  async run(lab) {
    lab.say('no limit on silence');
    const bad = await forgotten(lab, 0);
    lab.say(`a limit of ${SILENCE_MS / 1000} s`);
    const good = await forgotten(lab, SILENCE_MS);
    return {
      without: bad.side,
      with: good.side,
      promises: [
        {
          claim: 'without it the client hears of nothing, and of no error',
          isSeen: bad.heard === 0 && bad.breaks === 0,
        },
        { claim: 'with it the client hears of every change', isSeen: good.heard === CHANGES && good.breaks > 0 },
      ],
    };
  },
};

async function forgotten(lab: Lab, idleTimeoutMs: number): Promise<{ side: Side; heard: number; breaks: number }> {
  const server = await lab.server({});
  const proxy = lab.keep(await startFaultProxy(server));
  const [writer, reader] = [await lab.client(server), await lab.client(proxy)];
  const maps = writer.resource(corev1.configMaps);
  const { metadata } = await maps.list({ limit: 1, signal: lab.signal });
  const { signal, stop } = stoppable(lab);
  const heard = new Set<string>();
  const seen: string[] = [];
  let breaks = 0;
  const run = async () => {
    const options = {
      resourceVersion: metadata.resourceVersion ?? '',
      idleTimeoutMs,
      signal,
      onInterruption: ({ error }: { error: unknown }) => {
        breaks++;
        if (error && seen.length === 0) seen.push(`watch of configmaps ended with: ${(error as Error).message}`);
      },
    };
    for await (const { type, object } of reader.watchResuming(corev1.configMaps, options))
      if (type === 'ADDED') heard.add((object as corev1.ConfigMap).metadata.name ?? '');
  };
  const running = run().catch(() => {});
  await until(lab, () => proxy.open.some(({ kind, code }) => kind === 'watch' && code === 200));
  await maps.create({ metadata: { name: 'before' } }, { signal: lab.signal });
  await until(lab, () => heard.has('before'));
  heard.clear();
  breaks = 0;
  await until(lab, () => proxy.stall('watch') > 0);
  const began = performance.now();
  for (let i = 0; i < CHANGES; i++) await maps.create({ metadata: { name: `after-${i}` } }, { signal: lab.signal });
  const isOver = () => heard.size === CHANGES || (idleTimeoutMs === 0 && performance.now() - began > PATIENCE_MS);
  while (!isOver()) {
    lab.plot('changes it has heard of', heard.size);
    await rest(lab, 100);
  }
  const seconds = (performance.now() - began) / 1000;
  const result = { heard: heard.size, breaks };
  stop();
  await running;
  return {
    ...result,
    side: {
      rows: [
        ['changes after the connection died', String(CHANGES)],
        ['changes it is told of', `${result.heard} within ${seconds.toFixed(1)} s`],
        ['errors the client saw', String(breaks)],
      ],
      seen,
    },
  };
}
