/**
 * A filtered watch: the server sends only what matches a label or field selector.
 *
 * What matters is how things come and go. An object that begins to match is ADDED, though it may be old; one that no
 * longer matches is DELETED, though it is still there. So DELETED means "gone from what you look at". Use selectors to
 * keep traffic and memory small; a controller that must tell "gone" from "relabelled" watches without them.
 *
 *     npm run examples -- filtered-watch      against a fresh server of ours
 *     npx tsx examples/filtered-watch.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { connect, corev1, mergePatch, type SelectOptions } from 'longwatch/client';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'filtered-watch');
  const lamps = client.resource(corev1.configMaps, scratch.name);
  const { resourceVersion } = (await lamps.list({ signal })).metadata;

  /** Reads until `count` events have come, and shows them beside the name of the filter. */
  const follow = async (filter: string, select: SelectOptions, count: number) => {
    const seen: string[] = [];
    const options = { namespace: scratch.name, resourceVersion, signal, ...select };
    for await (const { type, object } of client.watchResuming(corev1.configMaps, options)) {
      if (type === 'BOOKMARK') continue;
      seen.push(`${type} ${object.metadata.name}`);
      console.log(`  ${filter.padEnd(24)} ${seen.at(-1)}`);
      if (seen.length === count) break;
    }
    return seen;
  };
  const put = (name: string, room: string) => lamps.create({ metadata: { name, labels: { room } } }, { signal });
  const carry = (name: string, room: string) =>
    lamps.patch(name, mergePatch({ metadata: { labels: { room } } }), { signal });
  const live = async () => {
    await put('ceiling', 'kitchen');
    await put('desk', 'hall');
    await carry('desk', 'kitchen'); // the kitchen has one more, the hall one less
    await lamps.patch('ceiling', mergePatch({ data: { state: 'on' } }), { signal });
    await carry('desk', 'porch'); // leaves the kitchen: DELETED there, and alive
    await lamps.delete('ceiling', { signal });
    await lamps.delete('desk', { signal });
  };

  const [kitchen, hallAndPorch, desk] = await Promise.all([
    follow('room=kitchen', { labelSelector: { room: 'kitchen' } }, 5),
    follow('room in (hall, porch)', { labelSelector: 'room in (hall, porch)' }, 4),
    follow('metadata.name=desk', { fieldSelector: { 'metadata.name': 'desk' } }, 4),
    live(),
  ]);
  assert.deepEqual(kitchen, ['ADDED ceiling', 'ADDED desk', 'MODIFIED ceiling', 'DELETED desk', 'DELETED ceiling']);
  assert.deepEqual(hallAndPorch, ['ADDED desk', 'DELETED desk', 'ADDED desk', 'DELETED desk']);
  assert.deepEqual(desk, ['ADDED desk', 'MODIFIED desk', 'MODIFIED desk', 'DELETED desk']);
});
