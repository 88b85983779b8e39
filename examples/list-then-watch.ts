/**
 * List, then watch: what there is, and from there on every change, without a gap in between.
 *
 * A list has a resourceVersion: the moment it shows. A watch from that version delivers what happened since, even what
 * happened before the watch was opened. When the server no longer has that history (410 `Expired`) one lists again. This
 * is what every informer does inside; write it by hand only when you want to decide what is kept.
 *
 *     npm run examples -- list-then-watch      against a fresh server of ours
 *     npx tsx examples/list-then-watch.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { connect, corev1, isExpired, type KubeClient, mergePatch } from 'longwatch/client';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

type State = Map<string, corev1.ConfigMap>;
type Where = {
  readonly namespace: string;
  readonly labelSelector: Record<string, string>;
  readonly signal: AbortSignal;
};

/** Yields the whole state, and again after every change. Ends with the signal, or when the reader leaves. */
async function* statesOf(client: KubeClient, where: Where): AsyncGenerator<State, void, void> {
  for (;;) {
    const state: State = new Map();
    let version = '';
    for await (const page of client.resource(corev1.configMaps).listPages({ ...where, limit: 10 })) {
      console.log(`  a page of ${page.items.length}, as of ${page.metadata.resourceVersion}`);
      for (const item of page.items) state.set(item.metadata.name, item);
      version = page.metadata.resourceVersion; // the same on every page
    }
    yield state;
    try {
      for await (const event of client.watchResuming(corev1.configMaps, { ...where, resourceVersion: version })) {
        if (event.type === 'BOOKMARK') continue;
        const { name } = event.object.metadata;
        console.log(`  ${event.type} ${name}`);
        if (event.type === 'DELETED') state.delete(name);
        else state.set(name, event.object);
        yield state;
      }
    } catch (err) {
      if (!isExpired(err)) throw err;
      console.log('  the history we need is gone: listing again');
    }
  }
}

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'list-then-watch');
  const lamps = client.resource(corev1.configMaps, scratch.name);
  const labels = { app: 'lamps' };
  const turn = (name: string, state: string) => lamps.patch(name, mergePatch({ data: { state } }), { signal });

  for (let number = 1; number <= 25; number++)
    await lamps.create({ metadata: { name: `lamp-${number}`, labels }, data: { state: 'off' } }, { signal });

  const where = { namespace: scratch.name, labelSelector: labels, signal };
  const states = statesOf(client, where);
  const { value: first } = await states.next();
  assert.equal(first?.size, 25, 'the list is whole, over all pages');

  // The list is read, the watch is not open yet: none of this may get lost.
  await turn('lamp-7', 'on');
  await lamps.delete('lamp-8', { signal });
  await lamps.create({ metadata: { name: 'lamp-26', labels }, data: { state: 'on' } }, { signal });

  for await (const state of states) if (state.has('lamp-26')) break;
  const truth = await lamps.list(where);
  const versions = (items: Iterable<corev1.ConfigMap>) =>
    [...items].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();
  assert.deepEqual(versions(first.values()), versions(truth.items), 'what we made of it is what the server has');
  console.log(`${truth.items.length} lamps, the same here and there`);
});
