import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { watchTurns } from '../../../../test/support/turns.ts';
import { backgroundClock, type KubeObject } from '../../../api/index.ts';
import { openEmbeddedStore, type Store } from '../../../store/index.ts';
import { negotiate } from '../../encodings/negotiation.ts';
import { Registry } from '../../registry/registry.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { ResourceStorages } from '../../storage/resource-storages.ts';
import { sendList } from './answer.ts';

const COUNT = 6_000;

let dataDir: string;
let store: Store;
let storage: ResourceStorage;
let items: StoredObject[];
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-answer-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
  const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
  storage = new ResourceStorages({ ...options, watchCacheLimits: () => 'off' }).storageOf('', 'configmaps');
  const { codec } = storage.objects;
  items = Array.from({ length: COUNT }, (_, i) => {
    const data = Object.fromEntries(Array.from({ length: 20 }, (_, k) => [`key-${k}`, `value ${i}`]));
    const metadata = { name: `cm-${i}`, namespace: 'ns', uid: `u-${i}` };
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data } as unknown as KubeObject;
    return codec.decode('ns', `cm-${i}`, i + 1, codec.encode(object));
  });
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** The answer to who accepts this, and how long others had to wait for a turn. */
async function listAs(accept: string, query = '', signal: AbortSignal = new AbortController().signal) {
  let sent: Buffer | undefined;
  const headers = { accept };
  const context = {
    headers,
    query: new URLSearchParams(query),
    signal,
    send: (_status: number, _type: string, body: Buffer) => {
      sent = body;
    },
  } as unknown as RequestContext;
  const work = async () =>
    sendList(context, negotiate(headers, storage.resource), storage, items, { resourceVersion: '9' });
  const { longestCpuMs, turns } = await watchTurns(work);
  return { text: sent!.toString(), longestCpuMs, turns };
}

it.each([
  ['a Table', 'application/json;as=Table;g=meta.k8s.io;v=v1', ''],
  ['a Table with objects', 'application/json;as=Table;g=meta.k8s.io;v=v1', 'includeObject=Object'],
  ['metadata', 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', ''],
  ['YAML', 'application/yaml', ''],
  ['indented JSON', 'application/json', 'pretty=1'],
])('a long list as %s is made in many turns', async (_claim, accept, query) => {
  const { text, turns, longestCpuMs: first } = await listAs(accept, query);
  for (const i of [0, 1, COUNT - 1]) expect(text).toContain(`cm-${i}`);
  if (accept.startsWith('application/json')) {
    const { rows, items: listed } = JSON.parse(text) as { rows?: unknown[]; items?: unknown[] };
    expect(rows ?? listed).toHaveLength(COUNT);
  }
  expect(turns).toBeGreaterThan(3);
  // A collection of garbage may fall into one turn, not into the longest of each try.
  let longestCpuMs = first;
  for (let again = 0; again < 4 && longestCpuMs >= 100; again++)
    longestCpuMs = Math.min(longestCpuMs, (await listAs(accept, query)).longestCpuMs);
  expect(longestCpuMs).toBeLessThan(100);
});

it('a list that nobody waits for any more is not made to its end', async () => {
  const gone = AbortSignal.abort(new Error('gone'));
  await expect(listAs('application/yaml', '', gone)).rejects.toThrow('gone');
});
