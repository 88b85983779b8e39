/**
 * Bookmarks: the server tells how far a watch has come, even when nothing has happened that the watch is about.
 *
 * A watch of something quiet would remember an old version, and find its history gone when it resumes. A bookmark moves
 * that version along. Another kind of bookmark marks the moment when the initial state is complete, which makes "list,
 * then watch" a single request (servers since 1.32). Watches here ask for bookmarks by themselves; what is left to you
 * is to remember their version as you do that of events.
 *
 *     npm run examples -- bookmarks      against a fresh server of ours
 *     npx tsx examples/bookmarks.ts      against the cluster of your kubeconfig
 */
import assert from 'node:assert/strict';
import { connect, corev1, mergePatch } from 'longwatch/client';
import { runExample } from './stage/run-example.ts';
import { scratchNamespace } from './stage/scratch-namespace.ts';

await runExample(async (signal) => {
  await using client = await connect();
  await using scratch = await scratchNamespace(client, 'bookmarks');
  const lamps = client.resource(corev1.configMaps, scratch.name);
  const labels = { app: 'lamps' };
  for (const name of ['attic', 'cellar', 'hall']) await lamps.create({ metadata: { name, labels } }, { signal });

  console.log('One request for the state and what follows it');
  const options = { namespace: scratch.name, labelSelector: labels, signal };
  const initial: string[] = [];
  let version = '';
  for await (const event of client.watch(corev1.configMaps, { ...options, sendInitialEvents: true })) {
    console.log(`  ${event.type} ${event.type === 'BOOKMARK' ? '' : event.object.metadata.name}`);
    if (event.type !== 'BOOKMARK') initial.push(event.object.metadata.name);
    else if (event.isInitialEventsEnd) {
      version = event.object.metadata.resourceVersion;
      break;
    }
  }
  assert.deepEqual(initial.sort(), ['attic', 'cellar', 'hall'], 'the state is whole when the bookmark comes');

  console.log('A watch of the attic, where nothing happens, while the hall is busy');
  for (let times = 0; times < 20; times++)
    await lamps.patch('hall', mergePatch({ data: { state: times % 2 ? 'on' : 'off' } }), { signal });
  const attic = { ...options, fieldSelector: { 'metadata.name': 'attic' } };
  let bookmark: string | undefined;
  // Servers send a bookmark about once a minute, and one before they end a stream: a short stream is a short wait.
  for await (const event of client.watch(corev1.configMaps, {
    ...attic,
    resourceVersion: version,
    timeoutSeconds: 4,
  })) {
    assert.equal(event.type, 'BOOKMARK', 'nothing has happened in the attic');
    bookmark = event.object.metadata.resourceVersion;
    console.log(`  BOOKMARK: we began after ${version}, and have seen everything up to ${bookmark}`);
  }
  assert.ok(bookmark !== undefined && bookmark !== version, 'a quiet watch has moved on');

  console.log('Going on after the bookmark: the past of the hall is not told again, its future is');
  const { metadata } = await lamps.patch('hall', mergePatch({ data: { state: 'bright' } }), { signal });
  for await (const event of client.watchResuming(corev1.configMaps, { ...options, resourceVersion: bookmark })) {
    if (event.type === 'BOOKMARK') continue;
    console.log(`  ${event.type} ${event.object.metadata.name} ${event.object.data?.state}`);
    assert.equal(event.object.metadata.resourceVersion, metadata.resourceVersion);
    break;
  }
});
