/**
 * kill -9 under load, again and again on the same data: what was acknowledged is there, versions only grow, and watches
 * go on from where they were as if nothing had happened.
 */
import { expect, it } from 'vitest';
import { isStatusError } from '../../../src/api/index.ts';
import type { ApiClient } from '../../../src/testing/index.ts';
import { CONFIG_MAPS } from '../../support/server/writers.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { startServerProcess } from './server-under-fire.ts';

const ROUNDS = 4;
const WRITERS = 8;

it('every acknowledged write outlives kill -9, and watches go on without a gap', async () => {
  await using folder = await temporaryDir();
  /** Name and what it was last acknowledged with. */
  const acknowledged = new Map<string, { value: number; version: number }>();
  /** Every acknowledged write, as watchers must be told of it. */
  const owed: string[] = [];
  /** What was tried after that: it may be there or not. */
  const tried = new Map<string, number>();
  const seen: { name: string; version: number }[] = [];
  let resumeAt: string | undefined;
  for (let round = 0; round <= ROUNDS; round++) {
    await using server = await startServerProcess(folder.path);
    const { client } = server;
    await checkState(client, acknowledged, tried);
    resumeAt ??= (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const watching = follow(client, resumeAt, seen);
    if (round === ROUNDS) {
      const last = await client.create(CONFIG_MAPS, { metadata: { name: 'the-last' } });
      await watching;
      expect(seen.at(-1)).toEqual({ name: 'the-last', version: Number(last.metadata.resourceVersion) });
      break;
    }
    // Dies in the middle of the writing, by a count that differs from round to round.
    let left = 150 + 77 * round;
    const killed = new Promise<void>((resolve, reject) => {
      const onAnswer = (name: string, version: number) => {
        owed.push(`${name} ${version}`);
        if (--left === 0) resolve(server.kill());
      };
      for (let i = 0; i < WRITERS; i++) write(client, `object-${i}`, acknowledged, tried, onAnswer).catch(reject);
    });
    await killed;
    resumeAt = await watching;
  }
  const versions = seen.map(({ version }) => version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  const told = new Set(seen.map(({ name, version }) => `${name} ${version}`));
  expect(owed.filter((line) => !told.has(line))).toEqual([]);
}, 120_000);

async function write(
  client: ApiClient,
  name: string,
  acknowledged: Map<string, { value: number; version: number }>,
  tried: Map<string, number>,
  onAnswer: (name: string, version: number) => void,
): Promise<void> {
  try {
    for (;;) {
      const value = Math.max(acknowledged.get(name)?.value ?? 0, tried.get(name) ?? 0) + 1;
      tried.set(name, value);
      const data = { value: String(value) };
      const path = `${CONFIG_MAPS}/${name}`;
      const { metadata } = await client.patch(path, { data }).catch((err: { code?: number }) => {
        if (err.code !== 404) throw err;
        return client.create(CONFIG_MAPS, { metadata: { name }, data });
      });
      const version = Number(metadata.resourceVersion);
      acknowledged.set(name, { value, version });
      onAnswer(name, version);
    }
  } catch (err) {
    if (isStatusError(err)) throw err;
    // The server is gone; what was asked last may have happened.
  }
}

async function checkState(
  client: ApiClient,
  acknowledged: Map<string, { value: number; version: number }>,
  tried: Map<string, number>,
): Promise<void> {
  const { items } = await client.list(CONFIG_MAPS);
  const found = new Map(items.map((object) => [object.metadata.name!, object]));
  for (const [name, { value, version }] of acknowledged) {
    const object = found.get(name);
    const stored = Number((object?.data as { value?: string } | undefined)?.value);
    expect([value, tried.get(name)]).toContain(stored);
    if (stored === value) expect(Number(object!.metadata.resourceVersion)).toBe(version);
    else expect(Number(object!.metadata.resourceVersion)).toBeGreaterThan(version);
  }
}

/** Reads until the server is gone or the last object is seen; the version to go on from. */
async function follow(client: ApiClient, from: string, seen: { name: string; version: number }[]): Promise<string> {
  let version = from;
  try {
    await using watch = await client.watch(CONFIG_MAPS, { resourceVersion: version });
    for await (const { type, object } of watch) {
      expect(type).not.toBe('ERROR');
      version = object.metadata.resourceVersion!;
      seen.push({ name: object.metadata.name!, version: Number(version) });
      if (object.metadata.name === 'the-last') break;
    }
  } catch (err) {
    if ((err as { code?: string }).code === undefined) throw err; // no fault of the connection
  }
  return version;
}
