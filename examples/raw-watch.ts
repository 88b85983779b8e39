/**
 * A raw watch that resumes: one stream of events out of many requests, with nothing lost and nothing told twice.
 *
 * A watch is one HTTP request, and every request ends: the server closes it after a while, a load balancer drops it. What
 * carries over is one string, the resourceVersion of the last event. Use this when you want the events themselves, such
 * as for an audit trail; for a local copy of what there is, see informer-with-indexes.ts.
 *
 *     npm run examples -- raw-watch      against a fresh server of ours
 *     npx tsx examples/raw-watch.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, corev1, isTransportError } from 'longwatch/client';
import { breakableNetwork } from './stage/breakable-network.ts';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

const LAMPS = Array.from({ length: 8 }, (_, number) => `lamp-${number + 1}`);

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'raw-watch');
  await using network = await breakableNetwork();
  await using watcher = await network.connect();

  const where = { namespace: scratch.name, labelSelector: { app: 'lamps' } };
  const lamps = client.resource(corev1.configMaps, scratch.name);
  const start = (await lamps.list({ ...where, signal })).metadata.resourceVersion;

  const seen: string[] = [];
  const ends: ('closed' | 'broken')[] = [];
  const watchByHand = async () => {
    let version = start; // all that has to be remembered
    for (;;) {
      try {
        const options = { ...where, resourceVersion: version, timeoutSeconds: 1, signal };
        for await (const { type, object } of watcher.watch(corev1.configMaps, options)) {
          version = object.metadata.resourceVersion; // bookmarks count too: they tell how far we are
          if (type === 'BOOKMARK') continue;
          console.log(`  ${type} ${object.metadata.name} at ${version}`);
          seen.push(object.metadata.name);
          if (seen.length >= 3 && !ends.includes('broken')) network.cut();
          if (seen.length === LAMPS.length) return;
        }
        ends.push('closed');
      } catch (err) {
        // A refusal is not mended by going on. `Expired` would mean that history is gone: see list-then-watch.ts.
        if (!isTransportError(err)) throw err;
        ends.push('broken');
      }
      console.log(`  -- ${ends.at(-1)}, going on after ${version}`);
    }
  };
  /** Whether we are connected or not; the last one when both kinds of end were met. */
  const addLamps = async () => {
    for (const name of LAMPS) {
      if (name === LAMPS.at(-1)) while (new Set(ends).size < 2) await delay(50, undefined, { signal });
      await lamps.create({ metadata: { name, labels: { app: 'lamps' } } }, { signal });
      await delay(200, undefined, { signal });
    }
  };
  console.log('By hand: streams that the server ends after a second, and a connection that is reset on the way');
  await Promise.all([watchByHand(), addLamps()]);
  assert.deepEqual(seen, LAMPS, 'every lamp is told once, in order');

  console.log('The same, ready-made: watchResuming() goes on by itself, and waits longer the more often it fails');
  const again: string[] = [];
  let interruptions = 0;
  const resuming = watcher.watchResuming(corev1.configMaps, {
    ...where,
    resourceVersion: start, // from the past, so the same events come again
    signal,
    onInterruption: ({ error, delayMs }) => {
      interruptions++;
      console.log(`  -- ${(error as Error).message}; trying again in ${Math.round(delayMs)} ms`);
    },
  });
  for await (const { type, object } of resuming) {
    if (type === 'BOOKMARK') continue;
    console.log(`  ${type} ${object.metadata.name}`);
    again.push(object.metadata.name);
    if (again.length > LAMPS.length) break;
    if (again.length < LAMPS.length) continue;
    network.cut();
    await lamps.create({ metadata: { name: 'one-more', labels: { app: 'lamps' } } }, { signal }); // while we are away
  }
  assert.deepEqual(again, [...LAMPS, 'one-more'], 'nothing was lost, nothing was told twice');
  assert.ok(interruptions > 0, 'the connection was broken');
});
