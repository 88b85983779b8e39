import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { StoreError } from '../errors.ts';
import type { Revision } from '../kv.ts';
import { type AutoCompaction, runAutoCompaction } from './auto-compaction.ts';

/** A store that makes `perTick` revisions every second and notes when it was compacted to what. */
class Target {
  readonly compactions: string[] = [];
  readonly #clock: FakeClock;
  readonly #perSecond: number;
  compacted: Revision = 0;
  refusal: Error | undefined;

  constructor(clock: FakeClock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  revision = (): Revision => 1 + Math.floor(this.#clock.now() / 1000) * this.#perSecond;
  compactRevision = (): Revision => this.compacted;
  compact = async (revision: Revision): Promise<void> => {
    this.compactions.push(`${this.#clock.now() / 1000}s: ${revision}`);
    if (this.refusal) throw this.refusal;
    this.compacted = revision;
  };
}

async function run(options: AutoCompaction, perSecond: number, seconds: number, prepare?: (target: Target) => void) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const target = new Target(clock, perSecond);
  prepare?.(target);
  const end = runAutoCompaction(options, target, clock, stop.signal).catch((err: unknown) => err);
  await clock.advance(seconds * 1000);
  stop.abort(new Error('test over'));
  return { compactions: target.compactions, end: await end, sleeping: clock.sleeping };
}

describe('automatic compaction', () => {
  it.each<[claim: string, options: AutoCompaction, perSecond: number, seconds: number, want: string[]]>([
    ['by age starts once history is old enough', { mode: 'periodic', retentionMs: 100_000 }, 1, 109, []],
    [
      'by age keeps all of the retention',
      { mode: 'periodic', retentionMs: 100_000 },
      1,
      130,
      ['110s: 11', '120s: 21', '130s: 31'],
    ],
    ['by age leaves a quiet store alone', { mode: 'periodic', retentionMs: 100_000 }, 0, 500, ['110s: 1']],
    [
      'by count keeps the last revisions',
      { mode: 'revision', retention: 50, intervalMs: 30_000 },
      1,
      90,
      ['60s: 11', '90s: 41'],
    ],
    [
      'by count looks every five minutes by default',
      { mode: 'revision', retention: 1 },
      1,
      601,
      ['300s: 300', '600s: 600'],
    ],
    ['by count leaves a quiet store alone', { mode: 'revision', retention: 0, intervalMs: 1000 }, 0, 9, ['1s: 1']],
    ['off does nothing', { mode: 'off' }, 100, 100_000, []],
  ])('%s', async (_claim, options, perSecond, seconds, want) => {
    expect((await run(options, perSecond, seconds)).compactions).toEqual(want);
  });

  it('does nothing while somebody else has compacted further', async () => {
    const { compactions } = await run({ mode: 'revision', retention: 0, intervalMs: 10_000 }, 1, 50, (target) => {
      target.compacted = 35;
    });
    expect(compactions).toEqual(['40s: 41', '50s: 51']);
  });

  it('goes on after it was told that somebody was faster', async () => {
    const { compactions } = await run({ mode: 'revision', retention: 0, intervalMs: 10_000 }, 1, 30, (target) => {
      target.refusal = new StoreError('Compacted', 'Cannot compact: somebody was faster');
    });
    expect(compactions).toEqual(['10s: 11', '20s: 21', '30s: 31']);
  });

  it('ends with any other error, and with its signal, and leaves nothing asleep', async () => {
    const refusal = new StoreError('Closed', 'Cannot compact: closed');
    const failed = await run({ mode: 'revision', retention: 0, intervalMs: 10_000 }, 1, 30, (target) => {
      target.refusal = refusal;
    });
    expect(failed).toEqual({ compactions: ['10s: 11'], end: refusal, sleeping: 0 });
    const stopped = await run({ mode: 'periodic', retentionMs: 1000 }, 1, 1);
    expect(stopped).toEqual({ compactions: [], end: new Error('test over'), sleeping: 0 });
  });
});
