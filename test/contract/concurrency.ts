/** Many callers at once: one order of all writes, no write lost, no read behind. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/kv.ts';
import { bytes, type Open, put, putOp, remove, textOf } from '../support/store/store-under-test.ts';

async function increment(store: Store, key: string): Promise<void> {
  for (;;) {
    const { kv } = await store.get(key);
    const next = `${Number(kv ? textOf(kv.value) : 0) + 1}`;
    const than = kv?.modRevision ?? 0;
    const { succeeded } = await store.txn({
      compare: [{ range: { key }, target: 'modRevision', is: '=', than }],
      then: [putOp(key, next)],
    });
    if (succeeded) return;
  }
}

export function describeConcurrency(open: Open): void {
  describe('concurrency', () => {
    it('100 concurrent compare-and-swap increments of one key add up to 100', async () => {
      await using t = await open();
      const key = `${t.prefix}counter`;
      await Promise.all(Array.from({ length: 100 }, () => increment(t.store, key)));
      const { kv } = await t.store.get(key);
      expect(textOf(kv!.value)).toBe('100');
      expect(kv!.version).toBe(100);
    });

    it('of many concurrent creations of one key exactly one succeeds, and the rest are shown it', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const create = async (_: unknown, i: number) => {
        const { succeeded, results } = await t.store.txn({
          compare: [{ range: { key }, target: 'modRevision', is: '=', than: 0 }],
          then: [{ kind: 'put', key, value: bytes(`${i}`) }],
          else: [{ kind: 'range', range: { key } }],
        });
        const [result] = results;
        return succeeded ? `${i}` : { shown: result?.kind === 'range' && textOf(result.kvs[0]!.value) };
      };
      const answers = await Promise.all(Array.from({ length: 50 }, create));
      const winner = answers.filter((answer) => typeof answer === 'string');
      expect(winner).toHaveLength(1);
      expect(answers.filter((answer) => typeof answer !== 'string')).toEqual(
        Array.from({ length: 49 }, () => ({ shown: winner[0] })),
      );
    });

    it('concurrent transactions take distinct revisions, each one more than the last', async () => {
      await using t = await open();
      const before = await t.store.revision();
      const writes = Array.from({ length: 100 }, (_, i) => put(t.store, `${t.prefix}${i % 10}`, `${i}`));
      const revisions = (await Promise.all(writes)).sort((a, b) => a - b);
      expect(revisions).toEqual(Array.from({ length: 100 }, (_, i) => before + 1 + i));
    });

    it('a read that starts after an answered write sees it, while others write', async () => {
      await using t = await open();
      const work = async (name: string) => {
        for (let i = 0; i < 25; i++) {
          const key = `${t.prefix}${name}`;
          const written = await put(t.store, key, `${i}`);
          const { kv, revision } = await t.store.get(key);
          expect([textOf(kv!.value), kv!.modRevision]).toEqual([`${i}`, written]);
          expect(revision).toBeGreaterThanOrEqual(written);
          const { kvs } = await t.store.range({ prefix: t.prefix });
          expect(kvs.find((each) => each.key === key)?.modRevision).toBe(written);
        }
      };
      await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(work));
    });

    it('a read never sees half of a transaction', async () => {
      await using t = await open();
      const keys = Array.from({ length: 20 }, (_, i) => `${t.prefix}${String(i).padStart(2, '0')}`);
      let isWriting = true;
      const write = (async () => {
        for (let i = 0; i < 40; i++) {
          await t.store.txn({ then: keys.map((key) => putOp(key, `${i}`)) });
          if (i % 10 === 9) await remove(t.store, { prefix: t.prefix });
        }
        isWriting = false;
      })();
      while (isWriting) {
        const { kvs } = await t.store.range({ prefix: t.prefix });
        expect(new Set(kvs.map((kv) => `${kv.modRevision} ${textOf(kv.value)}`)).size).toBeLessThan(2);
        expect([0, keys.length]).toContain(kvs.length);
        await turn(); // a store may answer reads without one, and the writer needs its own
      }
      await write;
    });
  });
}
