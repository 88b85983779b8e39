/** Checkpoints on a disk that fails. */
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Checkpoint } from '../../../src/client/checkpoint/checkpoint.ts';
import { CheckpointFile } from '../../../src/client/checkpoint/checkpoint-file.ts';
import type { AnyObject } from '../../../src/client/index.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import { change, header, object, type Plain, plain } from '../../support/client/checkpoint-states.ts';
import { savedIn } from '../../support/client/checkpoint-under-test.ts';
import { until } from '../../support/client/client-under-test.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';
import { smallDisk } from '../embedded/small-disk.ts';

it('whatever fails while it is written, the file is the last state or the one that was being written', async () => {
  const step = fc.record({
    changes: fc.array(change, { maxLength: 4 }),
    isWhole: fc.boolean(),
    room: fc.option(fc.nat(400)),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      await using dir = await temporaryDir();
      const path = join(dir.path, 'f');
      const disk = smallDisk();
      const file = new CheckpointFile(path, { disk });
      const objects = new Map<string, AnyObject>();
      let pending = new Map<string, AnyObject | undefined>();
      let version = 0;
      let saved: Plain | undefined;
      for (const { changes, isWhole, room } of steps) {
        for (const { name, isGone, text } of changes) {
          version++;
          if (isGone) objects.delete(name);
          else objects.set(name, object(name, version, text));
          pending.set(name, objects.get(name));
        }
        const commit = { at: 0, versions: { '*': `${version}` } };
        const now = plain(`${version}`, objects);
        disk.left = room ?? Number.POSITIVE_INFINITY;
        try {
          if (isWhole || file.wantsRewrite) await file.rewrite(header, objects.values(), commit);
          else await file.append(pending, commit);
          saved = now;
          pending = new Map();
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOSPC' });
        }
        const found = await new CheckpointFile(path).read();
        expect([saved, now]).toContainEqual(found && plain(found.versions['*'], found.objects));
        if (saved === now) expect(found && plain(found.versions['*'], found.objects)).toEqual(now);
      }
      await file.close();
    }),
    { numRuns: 60 },
  );
});

/** A checkpoint of a store that the test changes by hand. */
async function grounds(file: string) {
  const clock = new FakeClock();
  const disk = smallDisk();
  const objects = new Map<string, AnyObject>();
  const errors: string[] = [];
  let version = 0;
  const work = { isDone: true, wake: () => {} };
  const checkpoint = new Checkpoint<AnyObject>(
    { file, flushMs: 1000 },
    {
      ...{ clock, disk, header },
      clusterId: async () => 'c',
      snapshot: () => new Map(objects),
      commit: () => ({ at: 0, versions: version === 0 ? {} : { '*': `${version}` } }),
      handled: async () => {
        if (!work.isDone) await new Promise<void>((resolve) => Object.assign(work, { wake: resolve }));
      },
      report: ({ code, message }) => void errors.push(`${code} ${message}`),
    },
  );
  const stop = new AbortController();
  await checkpoint.open();
  const run = checkpoint.run(stop.signal);
  const write = (name: string, text = '') => {
    objects.set(name, object(name, ++version, text));
    checkpoint.note(name, objects.get(name));
  };
  return {
    ...{ clock, disk, errors, checkpoint, work, write },
    now: () => plain(`${version}`, objects),
    saved: async () => {
      const found = await savedIn<AnyObject>(file);
      return found && plain(found.versions['*'], found.objects);
    },
    close: async (isHandled = true) => {
      stop.abort();
      await run;
      await checkpoint.close(isHandled);
    },
  };
}

it('a disk that is full is told once, tried again with growing pauses, and has the newest state when there is room', async () => {
  await using dir = await temporaryDir();
  const { clock, disk, errors, checkpoint, write, now, saved, close } = await grounds(join(dir.path, 'f'));
  write('a');
  await clock.advance(1000);
  await until(() => checkpoint.metrics.commits === 1);
  const before = now();
  disk.left = 10;
  write('once');
  for (let i = 0; i < 50; i++) {
    write('b', `${i}`);
    await clock.advance(1000);
    await until(() => clock.sleeping === 2); // it is through with this one, and the lock is held
    expect(await saved()).toEqual(before);
  }
  expect(errors).toEqual([expect.stringMatching(/^Disk Cannot write checkpoint .*: ENOSPC/)]);
  const { failures } = checkpoint.metrics;
  expect(failures).toBeGreaterThan(3);
  expect(failures).toBeLessThan(8); // 1, 2, 4, 8, 16, 32 seconds
  disk.left = 1e6;
  await clock.advance(60_000);
  await until(() => checkpoint.metrics.commits === 2);
  expect(await saved()).toEqual(now());
  await close();
});

it('while handlers are at work nothing is written; what comes meanwhile is joined by key', async () => {
  await using dir = await temporaryDir();
  const file = join(dir.path, 'f');
  const { clock, checkpoint, work, write, now, saved, close } = await grounds(file);
  write('a');
  await clock.advance(1000);
  await until(() => checkpoint.metrics.commits === 1);
  work.isDone = false;
  write('a', 'second');
  const second = now();
  await clock.advance(1000);
  for (let i = 0; i < 1000; i++) write('a', `${i}`);
  expect((await saved())?.version).toBe('1');
  work.isDone = true;
  work.wake();
  await until(() => checkpoint.metrics.commits === 2);
  expect(await saved()).toEqual(second); // the moment that was waited for, and not what came after it
  const { bytes } = checkpoint.metrics;
  await clock.advance(1000);
  await until(() => checkpoint.metrics.commits === 3);
  expect(await saved()).toEqual(now());
  expect(checkpoint.metrics.bytes - bytes).toBeLessThan(400); // one object, and not a thousand
  await close();
});

it.each([true, false])(
  'at the end the last state is written only if handlers are through with it: %s',
  async (isHandled) => {
    await using dir = await temporaryDir();
    const { clock, checkpoint, write, now, saved, close } = await grounds(join(dir.path, 'f'));
    write('a');
    await clock.advance(1000);
    await until(() => checkpoint.metrics.commits === 1);
    const before = now();
    write('b');
    await close(isHandled);
    expect(await saved()).toEqual(isHandled ? now() : before);
  },
);

it('saved() waits through a full disk and for handlers, and is of the moment it was called', async () => {
  await using dir = await temporaryDir();
  const { clock, disk, checkpoint, work, write, now, saved, close } = await grounds(join(dir.path, 'f'));
  const told: string[] = [];
  const follow = (name: string) => checkpoint.saved().then(() => told.push(name));
  write('a');
  disk.left = 10;
  const first = follow('first');
  await clock.advance(1000);
  await until(() => checkpoint.metrics.failures === 1);
  expect(told).toEqual([]);
  disk.left = 1e6;
  await clock.advance(2000);
  await first;
  expect(await saved()).toEqual(now());

  work.isDone = false;
  write('b');
  const second = follow('second');
  const ofSecond = now();
  await clock.advance(1000); // the batch has begun, and waits for a handler
  write('c');
  const third = follow('third');
  await clock.advance(1000);
  expect(told).toEqual(['first']);
  work.isDone = true;
  work.wake();
  await second;
  expect([told, await saved()]).toEqual([['first', 'second'], ofSecond]);
  await clock.advance(1000);
  await third;
  const nothingNew = follow('nothing new');
  await clock.advance(1000);
  await nothingNew;
  expect(checkpoint.metrics.commits).toBe(3);

  write('d');
  const fourth = expect(checkpoint.saved()).rejects.toThrow('it was closed before that');
  await close(false);
  await fourth;
  await expect(checkpoint.saved()).rejects.toThrow('Cannot save to checkpoint');
});
