/**
 * From the log on disk to the state in memory: every record is checked, the index and the list of garbage are built
 * anew in the order in which the records were written. Goes in steps, so that a big store does not hold the event
 * loop while it is opened.
 *
 * What is recovered is what was committed last, or nothing: every record is whole and where it belongs, above the mark of
 * compaction no revision and no change of one is missing, and all of it together comes to what the seal says (seal.ts).
 * Anything else is Corrupt, and left as it is.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../api/index.ts';
import { StoreError } from '../../errors.ts';
import type { LeaseId, Revision } from '../../kv.ts';
import { DiskFullError, type LogEngine, type LogEntry, type LogPosition } from '../engine/engine.ts';
import { decodeSeal, encodeSeal, newSeal, type Seal, sealAfter, Tally } from '../engine/seal.ts';
import { Garbage } from './garbage.ts';
import { KeyIndex, type Version } from './key-index.ts';
import { Leases } from './leases.ts';
import { isIntact, readVersion } from './log-record.ts';

/** What this code writes. A store of a higher format was written by a newer version and is left alone. */
export const FORMAT = 2;
/** The same records and tables without a seal; sealed when it is opened. */
const UNSEALED_FORMAT = 1;

const STEP = { records: 500, bytes: 2 * 1024 * 1024 };

export type Recovered = {
  readonly index: KeyIndex;
  readonly garbage: Garbage;
  readonly revision: Revision;
  readonly compactScheduled: Revision;
  readonly compactFinished: Revision;
  readonly leases: ReadonlyMap<LeaseId, number>;
  readonly seal: Seal;
};

export type ReadLog = (see: (entry: LogEntry) => void) => Promise<void>;

/** `readLog` shows every record in order, where there is a quicker way than through the engine. */
export async function recover(
  engine: LogEngine,
  file: string,
  readLog: ReadLog = visitAll(engine),
): Promise<Recovered> {
  const format = formatOf(engine, file);
  const index = new KeyIndex();
  const garbage = new Garbage();
  const compactScheduled = engine.meta('compact.scheduled') ?? 0;
  const compactFinished = engine.meta('compact.finished') ?? 0;
  const tally = new Tally();
  /** Compaction may have left holes up to its mark; above it every change of every revision is there. */
  const holesUpTo = Math.max(1, compactScheduled);
  let last: Revision = 1;
  let lastSub = 0;
  const see = ({ revision, sub, record }: LogEntry) => {
    if (!isIntact(record)) throw corrupt(file, `the record of revision ${revision} is damaged`);
    const { key, version } = readVersion(record, sub);
    if (version.modRevision !== revision)
      throw corrupt(file, `revision ${revision} holds a record of ${version.modRevision}`);
    const expectedSub = revision === last ? lastSub + 1 : 0;
    if (revision > holesUpTo && (sub !== expectedSub || revision > Math.max(holesUpTo, last) + 1))
      throw corrupt(file, `a change is missing before change ${sub} of revision ${revision}`);
    addToIndex(index, garbage, key, version);
    tally.addRecord(version.modRevision, sub);
    last = revision;
    lastSub = sub;
  };
  await readLog(see);
  // The newest record may have been a delete that compaction removed: the mark remembers how far it had gone.
  const revision = Math.max(last, compactScheduled);
  const leases = engine.leases();
  const leased = new Tally();
  for (const [id, ttl] of leases) leased.addLease(id, ttl);
  const found = {
    revision,
    ...{ records: tally.count, sum: tally.sum, leases: leased.count, leaseSum: leased.sum },
    ...{ compactScheduled, compactFinished },
  };
  const seal = format === FORMAT ? checkSeal(engine, file, found) : await sealIt(engine, file, found);
  return { index, garbage, revision, compactScheduled, compactFinished, leases, seal };
}

function visitAll(engine: LogEngine): ReadLog {
  return async (see) => {
    for (let from: LogPosition | undefined = { revision: 0, sub: 0 }; from; ) {
      from = engine.visit(from, STEP, see);
      await nextTurn();
    }
  };
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
  recovered.reset(leases);
  moveKeysToLeases(recovered, index);
  return recovered;
}

/** To leases that have no keys yet, the keys that go with them by what is published. */
export function moveKeysToLeases(leases: Leases, index: KeyIndex): void {
  for (const { key, latest } of index.slice({ start: '', end: undefined }, Number.POSITIVE_INFINITY)) {
    if (latest.lease === 0n) continue;
    // A snapshot may catch a lease that was just being revoked: its keys end as soon as they may.
    if (!leases.get(latest.lease)) leases.add(latest.lease, leases.ttlFor(0));
    leases.move(key, 0n, latest.lease);
  }
}

/** What a new store starts with. */
export function firstCommit(): Parameters<LogEngine['commit']>[0] {
  const commit = { append: [], remove: [], meta: new Map([['format', FORMAT]] as const), leases: new Map() };
  return { ...commit, seal: encodeSeal(sealAfter(newSeal(), commit, new Map())) };
}

function formatOf(engine: LogEngine, file: string): number {
  const format = engine.meta('format');
  if (format === FORMAT) return format;
  const isNewer = format !== undefined && format > FORMAT;
  if (!isNewer && decodeSeal(engine.seal()))
    throw corrupt(file, `it has the seal of format ${FORMAT}, and calls itself ${format}`);
  if (format === UNSEALED_FORMAT) return format;
  if (format === undefined) {
    if (engine.scan(0, 1, 1).length > 0) throw corrupt(file, 'it holds records but no format');
    return UNSEALED_FORMAT; // made by an older version, and never written to
  }
  const advice = isNewer
    ? `this version reads up to ${FORMAT}; use the version that wrote it, or a newer one`
    : `this version reads from ${UNSEALED_FORMAT} on; open it with the version that wrote it, save a snapshot, restore that with this one`;
  throw new StoreError('UnsupportedFormat', `Cannot open ${JSON.stringify(file)}: it has format ${format}, ${advice}`);
}

type Found = Omit<Seal, 'store' | 'commit'>;

function checkSeal(engine: LogEngine, file: string, found: Found): Seal {
  const seal = decodeSeal(engine.seal());
  if (!seal) throw corrupt(file, 'its seal is missing or damaged');
  for (const [what, name] of Object.entries(SEALED) as [keyof typeof SEALED, string][])
    if (found[what] !== seal[what])
      throw corrupt(file, `it has ${name} ${found[what]}, and was closed with ${seal[what]}`);
  if (!isSameSum(found.sum, seal.sum)) throw corrupt(file, 'its records are not the ones that were written last');
  if (!isSameSum(found.leaseSum, seal.leaseSum))
    throw corrupt(file, 'its leases are not the ones that were written last');
  return seal;
}

const SEALED = {
  revision: 'revision',
  records: 'a number of records of',
  leases: 'a number of leases of',
  compactScheduled: 'a compaction at',
  compactFinished: 'a finished compaction at',
} as const;

function isSameSum(a: Seal['sum'], b: Seal['sum']): boolean {
  return a.high === b.high && a.low === b.low;
}

/** A store of an older version, taken for what it is found to be; from now on it is watched over. */
async function sealIt(engine: LogEngine, file: string, found: Found): Promise<Seal> {
  const seal: Seal = { ...newSeal(), ...found, commit: 1 };
  const meta = new Map([['format', FORMAT]] as const);
  try {
    await engine.commit({ append: [], remove: [], meta, leases: new Map(), seal: encodeSeal(seal) });
  } catch (err) {
    if (!(err instanceof DiskFullError)) throw err;
    const what = `Cannot open ${JSON.stringify(file)}: the disk is full; make room, and open it again`;
    throw new StoreError('NoSpace', what, { cause: err });
  }
  return seal;
}

function corrupt(file: string, what: string): StoreError {
  return new StoreError(
    'Corrupt',
    `Cannot open ${JSON.stringify(file)}: ${what}; keep the file, and restore a snapshot to a new directory`,
  );
}
