/**
 * From the log on disk to the state in memory: every record is checked, the index and the list of garbage are built
 * anew in the order in which the records were written. Goes in steps, so that a big store does not hold the event
 * loop while it is opened.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../api/index.ts';
import { StoreError } from '../errors.ts';
import type { LeaseId, Revision } from '../kv.ts';
import type { LogEngine, LogEntry, LogPosition } from './engine.ts';
import { Garbage } from './garbage.ts';
import { KeyIndex, type Version } from './key-index.ts';
import { Leases } from './leases.ts';
import { isIntact, readVersion } from './log-record.ts';

/** What this code writes. A store of a higher format was written by a newer version and is left alone. */
export const FORMAT = 1;

const STEP = { records: 500, bytes: 2 * 1024 * 1024 };

export type Recovered = {
  readonly index: KeyIndex;
  readonly garbage: Garbage;
  readonly revision: Revision;
  readonly compactScheduled: Revision;
  readonly compactFinished: Revision;
  readonly leases: ReadonlyMap<LeaseId, number>;
};

export async function recover(engine: LogEngine, file: string): Promise<Recovered> {
  await checkFormat(engine, file);
  const index = new KeyIndex();
  const garbage = new Garbage();
  const compactScheduled = engine.meta('compact.scheduled') ?? 0;
  const compactFinished = engine.meta('compact.finished') ?? 0;
  let last: Revision = 1;
  const see = ({ revision, sub, record }: LogEntry) => {
    if (!isIntact(record)) throw corrupt(file, `the record of revision ${revision} is damaged`);
    const { key, version } = readVersion(record, sub);
    if (version.modRevision !== revision)
      throw corrupt(file, `revision ${revision} holds a record of ${version.modRevision}`);
    addToIndex(index, garbage, key, version);
    last = revision;
  };
  for (let from: LogPosition | undefined = { revision: 0, sub: 0 }; from; ) {
    from = engine.visit(from, STEP, see);
    await nextTurn();
  }
  // The newest record may have been a delete that compaction removed: the mark remembers how far it had gone.
  const revision = Math.max(last, compactScheduled);
  return { index, garbage, revision, compactScheduled, compactFinished, leases: engine.leases() };
}

/** One more published version; what it supersedes becomes garbage. */
export function addToIndex(index: KeyIndex, garbage: Garbage, key: string, version: Version): Version | undefined {
  const { entry, superseded } = index.add(key, version);
  if (superseded) garbage.superseded(entry, superseded, version.modRevision);
  if (version.createRevision === 0) garbage.deleted(entry, version);
  return superseded;
}

/** The leases as they were, each with its whole time before it, and the keys that go with them. */
export function recoverLeases({ leases, index }: Recovered, clock: Clock): Leases {
  const recovered = new Leases(clock);
  for (const [id, ttl] of leases) recovered.add(id, ttl);
  for (const { key, latest } of index.slice({ start: '', end: undefined }, Number.POSITIVE_INFINITY)) {
    if (latest.lease === 0n) continue;
    // A snapshot may catch a lease that was just being revoked: its keys end as soon as they may.
    if (!recovered.get(latest.lease)) recovered.add(latest.lease, recovered.ttlFor(0));
    recovered.move(key, 0n, latest.lease);
  }
  return recovered;
}

async function checkFormat(engine: LogEngine, file: string): Promise<void> {
  const format = engine.meta('format');
  if (format === FORMAT) return;
  if (format !== undefined)
    throw new StoreError(
      'UnsupportedFormat',
      `Cannot open ${JSON.stringify(file)}: it has format ${format}, this version reads up to ${FORMAT}; use a newer one`,
    );
  if (engine.scan(0, 1, 1).length > 0) throw corrupt(file, 'it holds records but no format');
  await engine.commit({ append: [], remove: [], meta: new Map([['format', FORMAT]]), leases: new Map() });
}

function corrupt(file: string, what: string): StoreError {
  return new StoreError('Corrupt', `Cannot open ${JSON.stringify(file)}: ${what}; restore it from a snapshot`);
}
