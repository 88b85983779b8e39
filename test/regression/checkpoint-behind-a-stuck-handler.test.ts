/** A handler that takes for ever holds a checkpoint back, and must not cost it its lock, nor all the memory there is. */
import { stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Checkpoint } from '../../src/client/checkpoint/checkpoint.ts';
import type { AnyObject } from '../../src/client/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { savedIn } from '../support/client/checkpoint-under-test.ts';
import { until } from '../support/client/client-under-test.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const named = (name: string): AnyObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
});

function begin(file: string) {
  const clock = new FakeClock();
  const store = new Map<string, AnyObject>();
  const stuck = { until: Promise.resolve() };
  let version = 0;
  const checkpoint = new Checkpoint<AnyObject>(
    { file, flushMs: 1000 },
    {
      clock,
      header: {
        ...{ format: 1, resource: 'v1 configmaps', namespaces: ['*'], labelSelector: '', fieldSelector: '' },
        ...{ shape: 'whole', server: 'http://x' },
      },
      clusterId: async () => 'cluster',
      snapshot: () => new Map(store),
      commit: () => ({ at: 0, versions: { '*': `${version}` } }),
      handled: () => stuck.until,
      report: (error) => {
        throw error;
      },
    },
  );
  const set = (name: string, isThere: boolean) => {
    version++;
    if (isThere) store.set(name, named(name));
    else store.delete(name);
    checkpoint.note(name, store.get(name));
  };
  return { clock, checkpoint, stuck, set };
}

it('its lock is touched while a batch waits', async () => {
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  const { clock, checkpoint, stuck, set } = begin(file);
  await checkpoint.open();
  const stop = new AbortController();
  const run = checkpoint.run(stop.signal);
  let release = () => {};
  stuck.until = new Promise((resolve) => {
    release = resolve;
  });
  set('a', true);
  await clock.advance(5_000); // the batch waits
  await utimes(`${file}.lock`, 1, 1);
  await until(async () => {
    await clock.advance(5_000);
    return (await stat(`${file}.lock`)).mtimeMs > 1000;
  });
  expect(checkpoint.metrics.commits).toBe(0);
  release();
  stop.abort();
  await run;
  await checkpoint.close(true);
});

it('what comes and goes meanwhile is not kept: the whole store is written instead', async () => {
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  const { clock, checkpoint, stuck, set } = begin(file);
  await checkpoint.open();
  const stop = new AbortController();
  const run = checkpoint.run(stop.signal);
  const commit = (count: number) =>
    until(async () => {
      await clock.advance(1000);
      return checkpoint.metrics.commits >= count;
    });
  set('a', true);
  await commit(1);
  let release = () => {};
  stuck.until = new Promise((resolve) => {
    release = resolve;
  });
  set('b', true);
  await clock.advance(2000);
  for (let n = 0; n < 20_001; n++) for (const isThere of [true, false]) set(`job-${n}`, isThere);
  set('a', false);
  set('c', true);
  const { rewrites } = checkpoint.metrics;
  release();
  await commit(3);
  expect(checkpoint.metrics.rewrites).toBe(rewrites + 1);
  expect([...(await savedIn(file))!.objects.keys()].sort()).toEqual(['b', 'c']);
  set('d', true);
  await commit(4);
  expect([...(await savedIn(file))!.objects.keys()].sort()).toEqual(['b', 'c', 'd']);
  expect(checkpoint.metrics.rewrites).toBe(rewrites + 1);
  stop.abort();
  await run;
  await checkpoint.close(true);
});
