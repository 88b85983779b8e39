/** Watchers that do not read: they cost the server little and the others nothing, and miss nothing silently. */
import { expect, it } from 'vitest';
import type { WatchStream } from '../../src/testing/index.ts';
import { CONFIG_MAPS } from '../e2e/writers.ts';
import { startServerProcess } from './server-under-fire.ts';
import { temporaryDir } from './temporary-dir.ts';

const MIB = 1024 * 1024;
const WRITES = 100;
const SLOW = 30;
const BIG = 'x'.repeat(MIB / 2);

it.each(['http1', 'http2'] as const)(
  '%s: watchers that stop reading do not hold up or bloat the server',
  async (protocol) => {
    await using folder = await temporaryDir();
    await using server = await startServerProcess(folder.path);
    const { client } = server;
    const { metadata } = await client.list(CONFIG_MAPS);
    const from = { resourceVersion: metadata.resourceVersion };
    const slow = await Promise.all(
      // A connection each: a client that reads nothing of one stream starves the others of its own connection.
      Array.from({ length: SLOW }, () => server.connect({ protocol }).watch(CONFIG_MAPS, from)),
    );
    const quick = await server.connect({ protocol }).watch(CONFIG_MAPS, from);
    const before = await server.memoryBytes();
    const written: string[] = [];
    for (let i = 0; i < WRITES; i++) {
      const object = { metadata: { name: 'big' }, data: { big: BIG, value: String(i) } };
      const { metadata } =
        i === 0 ? await client.create(CONFIG_MAPS, object) : await client.update(`${CONFIG_MAPS}/big`, object);
      written.push(metadata.resourceVersion!);
      expect((await quick.next())?.object.metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
    // 50 MiB went to each of 30: kept for all of them it would be 1.5 GiB. The window alone may take 64 MiB.
    expect((await server.memoryBytes()) - before).toBeLessThan(500 * MIB);
    for (const watch of slow.slice(0, 8)) await catchUp(watch, written);
    for (const watch of slow) watch.close();
    expect((await client.list(CONFIG_MAPS)).items).toHaveLength(1);
  },
  90_000,
);

/** Everything, in order; or a part and a clean end, or an ERROR that says why. */
async function catchUp(watch: WatchStream, written: readonly string[]): Promise<void> {
  const seen: string[] = [];
  while (seen.length < written.length) {
    const event = await watch.next();
    if (!event) break;
    if (event.type === 'ERROR') {
      expect(event.object).toMatchObject({ code: 410 });
      break;
    }
    seen.push(event.object.metadata.resourceVersion!);
  }
  expect(seen).toEqual(written.slice(0, seen.length));
  expect(seen.length).toBeGreaterThan(0);
}
