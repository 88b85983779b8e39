/** A handler that is slower than the changes: read event by event it falls behind, joined by object it does not. */
import { setTimeout as sleep } from 'node:timers/promises';
import { corev1, type KubeClient } from '../../../../client/index.ts';
import { type Experiment, type Lab, type Side, stoppable, until } from '../experiment.ts';

const OBJECTS = 5;
const CHANGES = 200;
const HANDLER_MS = 60;

export const slowHandler: Experiment = {
  name: 'slow-handler',
  title: 'a handler that is slower than the changes',
  story: [
    `${CHANGES} changes of ${OBJECTS} objects come in a burst; the first call takes as long as the burst, others ${HANDLER_MS} ms.`,
    'A loop over the events handles every one of them, long after it has ceased to matter; meanwhile the stream is not read.',
  ],
  remedy: 'an informer: what waits for a handler is joined by object, and the handler sees the newest state',
  async run(lab) {
    lab.say('a loop over the events');
    const bad = await burst(lab, loop);
    lab.say('an informer');
    const good = await burst(lab, informed);
    return {
      without: bad.side,
      with: good.side,
      promises: [
        {
          claim: 'without it the handler works through the past: one call for each change',
          isSeen: bad.calls >= CHANGES,
        },
        {
          claim: 'with it far fewer calls, and it is done sooner after the last change',
          isSeen: good.calls < bad.calls / 2 && good.lagMs < bad.lagMs,
        },
        { claim: 'both end with the newest state', isSeen: bad.isCurrent && good.isCurrent },
      ],
    };
  },
};

type Handle = (object: corev1.ConfigMap) => Promise<void>;
/** Calls the handler until the signal; resolves when it follows. */
type Follow = (client: KubeClient, handle: Handle, signal: AbortSignal) => Promise<AsyncDisposable>;

async function burst(
  lab: Lab,
  follow: Follow,
): Promise<{ side: Side; calls: number; lagMs: number; isCurrent: boolean }> {
  const server = await lab.server({});
  const client = await lab.client(server);
  const maps = client.resource(corev1.configMaps);
  for (let i = 0; i < OBJECTS; i++) await maps.create({ metadata: { name: `o-${i}` }, data: { n: 'none' } });
  const { signal, stop } = stoppable(lab);
  let calls = 0;
  let isCounting = false;
  const state = new Map<string, string>();
  let burstIsOver: () => void = () => {};
  const isOver = new Promise<void>((resolve) => {
    burstIsOver = resolve;
  });
  const handle: Handle = async ({ metadata, data }) => {
    if (isCounting) await isOver; // so that it is slower than the changes, however slow those are here
    await sleep(HANDLER_MS, undefined, { signal }).catch(() => {});
    state.set(metadata.name ?? '', data?.n ?? '');
    if (isCounting) lab.plot('calls of the handler', ++calls);
  };
  const following = await follow(client, handle, signal);
  isCounting = true;
  const want = new Map<string, string>();
  const change = async (n: number) => {
    const name = `o-${n % OBJECTS}`;
    want.set(name, String(n));
    await maps.update({ metadata: { name }, data: { n: String(n) } }, { signal: lab.signal });
  };
  // Each object in its own order, the objects side by side.
  const lanes = Array.from({ length: OBJECTS }, async (_, lane) => {
    for (let n = lane; n < CHANGES; n += OBJECTS) await change(n);
  });
  await Promise.all(lanes);
  burstIsOver();
  const written = performance.now();
  const isCurrent = () => [...want].every(([name, n]) => state.get(name) === n);
  await until(lab, isCurrent);
  const lagMs = performance.now() - written;
  stop();
  await following[Symbol.asyncDispose]();
  return {
    calls,
    lagMs,
    isCurrent: isCurrent(),
    side: {
      rows: [
        ['changes', `${CHANGES} of ${OBJECTS} objects`],
        ['calls of the handler', String(calls)],
        ['current again after', `${(lagMs / 1000).toFixed(1)} s`],
      ],
      seen: [],
    },
  };
}

const loop: Follow = async (client, handle, signal) => {
  const { metadata } = await client.resource(corev1.configMaps).list({ limit: 1, signal });
  let open: () => void = () => {};
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const run = async () => {
    const options = { resourceVersion: metadata.resourceVersion ?? '', signal, onOpen: () => open(), idleTimeoutMs: 0 };
    for await (const event of client.watch(corev1.configMaps, options))
      if (event.type !== 'BOOKMARK') await handle(event.object);
  };
  const running = run().catch(() => {});
  await isOpen;
  return { [Symbol.asyncDispose]: () => running };
};

const informed: Follow = async (client, handle) => {
  const informer = client.informer(corev1.configMaps, {});
  // What waits is joined by object from the first on; a work queue does the same for a controller.
  informer.subscribe(({ object }) => handle(object), { limit: 1 });
  await informer.synced();
  return informer;
};
