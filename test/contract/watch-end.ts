/** How a watch ends: by its reader, by a signal, by the store. */
import { describe, expect, it } from 'vitest';
import { expectRefusal, type Open, put } from '../support/store/store-under-test.ts';
import { namesIn, readEvents } from '../support/store/watching.ts';

export function describeWatchEnds(open: Open): void {
  describe('watch() ends', () => {
    it('quietly when its reader leaves the loop', async () => {
      await using t = await open();
      const watch = t.store.watch({ prefix: t.prefix });
      await watch.started();
      await put(t.store, `${t.prefix}a`);
      await put(t.store, `${t.prefix}b`);
      for await (const batch of watch) {
        expect(namesIn([batch])).toContain(`put ${t.prefix}a`);
        break;
      }
      expect(await watch.next()).toMatchObject({ done: true });
      await put(t.store, `${t.prefix}c`);
      expect(await watch.next()).toMatchObject({ done: true });
    });

    it('quietly when it is disposed of while a read waits', async () => {
      await using t = await open();
      const watch = t.store.watch({ prefix: t.prefix });
      await watch.started();
      const waiting = watch.next();
      await watch[Symbol.asyncDispose]();
      expect(await waiting).toMatchObject({ done: true });
    });

    it('with the reason of its signal, while a read waits', async () => {
      await using t = await open();
      const stop = new AbortController();
      const watch = t.store.watch({ prefix: t.prefix }, { signal: stop.signal });
      await watch.started();
      const waiting = watch.next();
      const reason = new Error('enough');
      stop.abort(reason);
      await expect(waiting).rejects.toBe(reason);
    });

    it('with the reason of its signal, in a loop that was reading', async () => {
      await using t = await open();
      const stop = new AbortController();
      const reason = new Error('enough');
      const watch = t.store.watch({ prefix: t.prefix }, { signal: stop.signal });
      await watch.started();
      await put(t.store, `${t.prefix}a`);
      const loop = (async () => {
        for await (const batch of watch) if (batch.events.length > 0) stop.abort(reason);
      })();
      await expect(loop).rejects.toBe(reason);
    });

    it('with the reason of a signal that had fired before', async () => {
      await using t = await open();
      const reason = new Error('too late');
      const watched = async () => t.store.watch({ prefix: t.prefix }, { signal: AbortSignal.abort(reason) }).next();
      await expect(watched()).rejects.toBe(reason);
    });

    it('without taking others along', async () => {
      await using t = await open();
      const stop = new AbortController();
      await using stays = t.store.watch({ prefix: t.prefix });
      const goes = t.store.watch({ prefix: t.prefix }, { signal: stop.signal });
      await Promise.all([stays.started(), goes.started()]);
      const waiting = goes.next();
      stop.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      await put(t.store, `${t.prefix}a`);
      expect(namesIn(await readEvents(stays, 1))).toEqual([`put ${t.prefix}a`]);
    });

    it('with Closed when the store closes', async () => {
      await using t = await open();
      const watches = Array.from({ length: 3 }, () => t.store.watch({ prefix: t.prefix }));
      await Promise.all(watches.map((watch) => watch.started()));
      const waiting = watches.map((watch) => expectRefusal(watch.next(), 'Closed'));
      await t.store.close();
      await Promise.all(waiting);
    });

    it('once: after its error it is over', async () => {
      await using t = await open();
      const watch = t.store.watch({ prefix: t.prefix });
      await watch.started();
      const waiting = expectRefusal(watch.next(), 'Closed');
      await t.store.close();
      await waiting;
      expect(await watch.next()).toMatchObject({ done: true });
      expect(await watch.return()).toMatchObject({ done: true });
    });
  });
}
