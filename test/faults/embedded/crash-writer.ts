/**
 * The process that is killed: `crash-writer.ts <dataDir> <round> <seed>` writes until somebody ends it. It says on
 * stdout what it tries before it tries it, and what was answered after it was answered.
 */
import { openLmdbEngine } from '../../../src/store/embedded/disk/lmdb-engine.ts';
import { openEmbeddedStore } from '../../../src/store/index.ts';
import { randomFrom } from '../../support/random.ts';
import { type Attempt, type Line, opsOf, sizeFor, WRITERS } from './crash-script.ts';

/** How far compaction stays behind: farther than what can be in flight, so nothing unheard-of is compacted away. */
const KEPT_REVISIONS = 150;

const [dataDir, round, seed] = process.argv.slice(2);
// A pipe takes a line at once and for good: what was said stays said when the process is gone.
const tell = (line: Line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const store = await openEmbeddedStore({
  dataDir: dataDir!,
  autoCompaction: { mode: 'off' },
  openEngine: (file) => {
    tell({ tell: 'opening' });
    return openLmdbEngine({ file, isDurable: true });
  },
});
tell({ tell: 'ready' });

/** Nothing lies below the first revision, so nobody could tell that it was compacted there. */
let compacted = 1;
let attempts = 0;

async function write(writer: number): Promise<never> {
  const random = randomFrom(Number(seed) + writer);
  for (let isThere = false; ; ) {
    const kind: Attempt['kind'] = isThere && random() < 0.2 ? 'delete' : 'put';
    const attempt: Attempt = { id: `${round}.${attempts++}`, writer, kind, bytes: sizeFor(writer, random()) };
    tell({ tell: 'try', ...attempt });
    const { revision } = await store.txn({ then: opsOf(attempt) });
    tell({ tell: 'ack', id: attempt.id, revision });
    isThere = kind === 'put';
    if (writer === 0 && random() < 0.1) await compact(revision - KEPT_REVISIONS);
  }
}

async function compact(revision: number): Promise<void> {
  if (revision <= compacted) return;
  tell({ tell: 'compacting', revision });
  await store.compact(revision).catch((err: { code?: string }) => {
    if (err.code !== 'Compacted') throw err; // an earlier round had come further
  });
  compacted = revision;
  tell({ tell: 'compacted', revision });
}

await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
