/** A lazy object that was decoded costs what it would have cost anyway: nothing holds the text it came in any more. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Informer } from '../../src/client/advanced.ts';
import { lazyOf } from '../../src/client/index.ts';
import { configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { scriptedServer } from '../support/client/client-scripted-server.ts';

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;

async function heldBytes(): Promise<number> {
  for (let turn = 0; turn < 3; turn++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}

it('the keys of a store and of its indexes do not hold the text of their objects', async () => {
  await using server = await scriptedServer();
  const byUid = ({ metadata }: { metadata: { uid: string } }) => [metadata.uid];
  await using informer = new Informer({ transport: server.transport() }, lazyOf(configMaps), {
    ...{ namespace: 'a-rather-long-namespace', indexers: { byUid }, freeze: false },
  });
  const { response } = await server.next();
  response.writeHead(200, { 'content-type': 'application/json' });
  const [objects, bytes] = [1000, 20_000];
  for (let n = 0; n < objects; n++) {
    const metadata = {
      ...{ name: `a-rather-long-name-${n}`, namespace: 'a-rather-long-namespace', uid: `some-long-uid-${n}` },
      ...{ resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
    };
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { text: 'x'.repeat(bytes) } };
    response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
  }
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const mark = { metadata: { resourceVersion: '5', annotations } };
  response.write(`${JSON.stringify({ type: 'BOOKMARK', object: mark })}\n`);
  await informer.synced();
  expect(informer.size).toBe(objects);
  const before = await heldBytes();
  for (const object of informer.list()) object.decode();
  const grown = (await heldBytes()) - before;
  expect(grown).toBeLessThan((objects * bytes) / 4); // it would be all of them
});
