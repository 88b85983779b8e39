/**
 * Several kinds in one program: a watch for each, one handler for all, kinds chosen when the program runs.
 *
 * Every kind has a history of its own: events of one kind come in order, between kinds there is no order, so a handler
 * looks up what it needs instead of remembering who came first. A factory shares watches: whoever acquires the same
 * objects gets the same local copy.
 *
 *     npm run examples -- several-kinds                          against a fresh server of ours
 *     npx tsx examples/several-kinds.ts ConfigMap Secret Lease   against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { connect, type DynamicObject, type InformerEvent } from 'longwatch/client';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

const kinds = process.argv.length > 2 ? process.argv.slice(2) : ['ConfigMap', 'Secret', 'ServiceAccount'];

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'several-kinds');
  await using informers = client.informers();
  const select = { namespace: scratch.name, labelSelector: { example: 'several-kinds' } };

  const seen = new Map<string, string[]>();
  const tell = ({ type, object: { kind, metadata } }: InformerEvent<DynamicObject>) => {
    console.log(`  ${type.padEnd(8)} ${kind} ${metadata.name}`);
    seen.set(kind, [...(seen.get(kind) ?? []), `${type} ${metadata.name}`]);
  };

  // From a kind to what the cluster calls it, its version and its path: kubectl does the same.
  const resources = await Promise.all(kinds.map((kind) => client.discovery.find({ kind })));
  const handles = resources.map((resource) => informers.acquire(resource, select));
  const handlers = handles.map(({ informer }) => informer.subscribe(tell));
  await informers.synced(signal);
  console.log(`watching ${resources.map(({ apiVersion, plural }) => `${plural} (${apiVersion})`).join(', ')}`);

  for (const resource of resources) {
    const objects = client.resource(resource, scratch.name);
    const made = await objects.create({ metadata: { name: 'one', labels: select.labelSelector } }, { signal });
    await objects.update({ ...made, metadata: { ...made.metadata, annotations: { touched: 'yes' } } }, { signal });
    await objects.delete('one', { signal });
  }
  const last = { metadata: { name: 'last', labels: select.labelSelector } };
  for (const [number, resource] of resources.entries()) {
    const { metadata } = await client.resource(resource, scratch.name).create(last, { signal });
    await handles[number]!.informer.reached(metadata.resourceVersion, signal); // the copy has our own write
    await handlers[number]!.idle(signal); // and the handler was told
  }
  for (const kind of kinds)
    assert.deepEqual(seen.get(kind), ['added one', 'updated one', 'deleted one', 'added last'], `all of ${kind}`);

  // Acquired again, the same copy: no second watch, nothing to wait for.
  await using again = informers.acquire(resources[0]!, select);
  assert.equal(again.informer, handles[0]!.informer);
  assert.equal(informers.informers.length, kinds.length);
});
