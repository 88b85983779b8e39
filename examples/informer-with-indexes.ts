/**
 * An informer with indexes: a local copy of what there is that stays true, and answers questions at once.
 *
 * Reads cost nothing: they never wait and never ask the server. Indexes make them cheap in large clusters: pods by node,
 * or here lamps by room. The copy survives whatever happens to its connection. Use it whenever you read more often than
 * things change.
 *
 *     npm run examples -- informer-with-indexes      against a fresh server of ours
 *     npx tsx examples/informer-with-indexes.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { connect, corev1, mergePatch } from 'longwatch/client';
import { breakableNetwork } from './stage/breakable-network.ts';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

const ROOMS = ['hall', 'kitchen', 'porch'];

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'informer');
  const lamps = client.resource(corev1.configMaps, scratch.name);
  for (let number = 1; number <= 12; number++) {
    const labels = { app: 'lamps', room: ROOMS[number % ROOMS.length]! };
    await lamps.create({ metadata: { name: `lamp-${number}`, labels }, data: { state: 'off' } }, { signal });
  }

  await using network = await breakableNetwork();
  await using reader = await network.connect();
  await using informer = reader.informer(corev1.configMaps, {
    namespace: scratch.name,
    labelSelector: { app: 'lamps' },
    indexers: {
      byRoom: ({ metadata }) => [metadata.labels?.room],
      byState: ({ data }) => [data?.state],
    },
    // Keep what is needed: managed fields are often half of an object.
    transform: ({ metadata: { managedFields: _, ...metadata }, ...lamp }) => ({ ...lamp, metadata }),
  });
  await informer.synced(signal);

  const report = () => {
    for (const room of informer.valuesOf('byRoom').sort()) {
      const lit = informer.by('byRoom', room).filter(({ data }) => data?.state === 'on');
      console.log(`  ${room}: ${informer.by('byRoom', room).length} lamps, ${lit.length} on`);
    }
  };
  console.log(`${informer.size} lamps at resourceVersion ${informer.resourceVersion}`);
  report();
  assert.deepEqual(informer.valuesOf('byRoom').sort(), ROOMS);
  assert.equal(informer.by('byRoom', 'hall').length, 4);
  assert.equal(informer.by('byState', 'on').length, 0);

  console.log('One is switched on, one is carried elsewhere; the indexes follow');
  await lamps.patch('lamp-1', mergePatch({ data: { state: 'on' } }), { signal });
  const moved = await lamps.patch('lamp-3', mergePatch({ metadata: { labels: { room: 'cellar' } } }), { signal });
  await informer.reached(moved.metadata.resourceVersion, signal); // reading our own writes
  report();
  assert.deepEqual(
    informer.by('byState', 'on').map(({ metadata }) => metadata.name),
    ['lamp-1'],
  );
  assert.deepEqual(
    informer.by('byRoom', 'cellar').map(({ metadata }) => metadata.name),
    ['lamp-3'],
  );
  assert.equal(informer.get(`${scratch.name}/lamp-3`)?.metadata.managedFields, undefined);

  console.log('The network breaks, lamps go, and the informer catches up without reading everything anew');
  network.cut();
  for (const name of ['lamp-1', 'lamp-2']) await lamps.delete(name, { signal });
  const last = await lamps.patch('lamp-4', mergePatch({ data: { state: 'on' } }), { signal });
  await informer.reached(last.metadata.resourceVersion, signal);
  report();
  assert.equal(informer.size, 10);
  const { lists, streams, deleted } = informer.metrics;
  console.log(`  ${streams} streams, ${lists} complete read, ${deleted} deletions told, ${informer.freshness.state}`);
  assert.ok(lists === 1 && streams > 1, 'it resumed');
});
