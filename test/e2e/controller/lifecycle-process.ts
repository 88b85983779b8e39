/** Runs 20 servers, some at once, each with clients and watches, and stops them: run by lifecycle.test.ts. */
import { startTestServer } from '../../../src/testing/index.ts';
import { CONFIG_MAPS } from '../../support/server/writers.ts';

let served = 0;
let ended = 0;

async function live(i: number): Promise<void> {
  const server = await startTestServer();
  const { client } = server;
  const client2 = server.connect({ protocol: 'http2' });
  const watches = await Promise.all(
    [client, client2].map((one) => one.watch(CONFIG_MAPS, { resourceVersion: '0', allowWatchBookmarks: true })),
  );
  const reading = watches.map((watch) =>
    watch.rest().then(
      () => 'ended',
      () => 'left',
    ),
  );
  // One that leaves early, from a version that only the store's log knows.
  const gone = await client2.watch(CONFIG_MAPS, { resourceVersion: '1' });
  gone.close();
  await client2.create(CONFIG_MAPS, { metadata: { name: 'a' } });
  const { items } = await client.list(CONFIG_MAPS);
  served += items.length;
  if (i % 2 === 0)
    await server.stop(); // the watches end with the server
  else for (const watch of watches) watch.close(); // or before it
  await server[Symbol.asyncDispose]();
  const outcomes = await Promise.all(reading);
  ended += outcomes.length;
}

await Promise.all([live(0), live(1)]);
for (let i = 2; i < 20; i++) await live(i);
// Sockets that were destroyed are closed in the next turns.
for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
// The pipes of this process are its own, and an Immediate is gone by itself.
const own = /^(PipeWrap|TTYWrap|FSReqCallback|Immediate)$/;
const left = process.getActiveResourcesInfo().filter((name) => !own.test(name));
process.stdout.write(JSON.stringify({ served, ended, left }));
