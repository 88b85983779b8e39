/**
 * Compaction by itself: by age (`periodic`: history of at least `retentionMs` is kept) or by count (`revision`: the
 * last `retention` revisions are kept). A loop that ends with its signal; a round that finds nothing new does nothing.
 */
import type { Clock } from '../../api/index.ts';
import { isStoreError } from '../errors.ts';
import type { Revision } from '../kv.ts';

export type AutoCompaction =
  | { readonly mode: 'off' }
  | { readonly mode: 'periodic'; readonly retentionMs: number }
  | { readonly mode: 'revision'; readonly retention: number; readonly intervalMs?: number };

export type CompactionTarget = {
  revision(): Revision;
  compactRevision(): Revision;
  compact(revision: Revision): Promise<void>;
};

const REVISION_MODE_INTERVAL_MS = 5 * 60_000;
/** A tenth of the retention at a time: many small compactions, and history is never much older than asked for. */
const SAMPLES_PER_RETENTION = 10;

export async function runAutoCompaction(
  options: AutoCompaction,
  target: CompactionTarget,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const choose = chooserFor(options);
  if (!choose) return;
  for (;;) {
    await clock.sleep(choose.everyMs, signal);
    const revision = choose.next(target.revision());
    if (revision <= target.compactRevision()) continue;
    await target.compact(revision).catch((err: unknown) => {
      // Somebody compacted by hand further than this: nothing left to do in this round.
      if (!isStoreError(err, 'Compacted')) throw err;
    });
  }
}

type Chooser = { readonly everyMs: number; next(current: Revision): Revision };

function chooserFor(options: AutoCompaction): Chooser | undefined {
  switch (options.mode) {
    case 'off':
      return undefined;
    case 'revision':
      return {
        everyMs: options.intervalMs ?? REVISION_MODE_INTERVAL_MS,
        next: (current) => Math.max(0, current - options.retention),
      };
    case 'periodic': {
      const samples: Revision[] = [];
      return {
        everyMs: Math.max(1, options.retentionMs / SAMPLES_PER_RETENTION),
        next: (current) => {
          samples.push(current);
          return samples.length > SAMPLES_PER_RETENTION ? samples.shift()! : 0;
        },
      };
    }
  }
}
