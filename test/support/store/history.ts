/**
 * What truly happened to a store, and whether a watch told it. A History is fed every change in order of revision and
 * answers the state at any revision by replay; `violations` holds recorded batches of a watch against it and says in
 * sentences what the watch got wrong: order, doubles, gaps, split revisions, broken progress, wrong previous pairs.
 *
 * It keeps everything for ever and knows no compaction: that is what makes it easy to believe.
 */
import { createHash } from 'node:crypto';
import { boundsOf, isInBounds } from '../../../src/store/keys.ts';
import type { Key, KeyRange, KeyValue, LeaseId, Revision, WatchBatch, WatchEvent } from '../../../src/store/kv.ts';

/** A put, or a delete if there is no value. */
export type Change = { readonly key: Key; readonly value: Uint8Array | undefined; readonly lease?: LeaseId };

export class History {
  readonly #events: WatchEvent[] = [];

  /** The changes of one revision, in the order they were made. Deletes of keys that are not there are not changes. */
  record(revision: Revision, changes: readonly Change[]): readonly WatchEvent[] {
    const state = this.stateAt(revision);
    const events = changes.map((change) => eventOf(change, revision, state));
    this.#events.push(...events);
    return events;
  }

  /** The keys that exist at a revision. */
  stateAt(revision: Revision): Map<Key, KeyValue> {
    const state = new Map<Key, KeyValue>();
    for (const { type, kv } of this.#events) {
      if (kv.modRevision > revision) break;
      if (type === 'put') state.set(kv.key, kv);
      else state.delete(kv.key);
    }
    return state;
  }

  /** Every event from a revision on, revision by revision. */
  revisionsFrom(from: Revision): Map<Revision, WatchEvent[]> {
    const revisions = new Map<Revision, WatchEvent[]>();
    for (const event of this.#events.filter(({ kv }) => kv.modRevision >= from))
      revisions.set(event.kv.modRevision, [...(revisions.get(event.kv.modRevision) ?? []), event]);
    return revisions;
  }

  /** What a watch of the range has to deliver from one revision through another, with every previous pair. */
  eventsOf(range: KeyRange, from: Revision, through: Revision): WatchEvent[] {
    const bounds = boundsOf(range);
    return this.#events.filter(
      ({ kv }) => kv.modRevision >= from && kv.modRevision <= through && isInBounds(kv.key, bounds),
    );
  }
}

function eventOf({ key, value, lease = 0n }: Change, revision: Revision, before: Map<Key, KeyValue>): WatchEvent {
  const prevKv = before.get(key);
  if (value === undefined)
    return {
      type: 'delete',
      kv: { key, value: new Uint8Array(), createRevision: 0, modRevision: revision, version: 0, lease: 0n },
      prevKv,
    };
  const createRevision = prevKv?.createRevision ?? revision;
  const version = (prevKv?.version ?? 0) + 1;
  return { type: 'put', kv: { key, value, createRevision, modRevision: revision, version, lease }, prevKv };
}

/** What one watch delivered, from its first revision until its reader stopped. */
export type Recording = {
  readonly range: KeyRange;
  readonly fromRevision: Revision;
  readonly prevKv?: boolean;
  /** Previous pairs older than this may be missing. */
  readonly compactRevision?: Revision;
  readonly batches: readonly WatchBatch[];
};

/** Empty if the recording is a true account of the history up to the revision of its last batch. */
export function violations(recording: Recording, history: History): string[] {
  return [
    ...unordered(recording.batches),
    ...repeated(recording.batches),
    ...split(recording.batches),
    ...brokenProgress(recording.batches),
    ...unlikeHistory(recording, history),
  ];
}

/** Empty if two recordings, the second resumed at the end of the first, are one true account together. */
export function resumeViolations(first: Recording, second: Recording, history: History): string[] {
  const resumeAt = (first.batches.at(-1)?.revision ?? first.fromRevision - 1) + 1;
  if (second.fromRevision !== resumeAt)
    return [`resumed at ${second.fromRevision}, the first part ended at ${resumeAt}`];
  return violations({ ...first, batches: [...first.batches, ...second.batches] }, history);
}

function unordered(batches: readonly WatchBatch[]): string[] {
  const revisions = batches.flatMap((batch) => batch.events.map((event) => event.kv.modRevision));
  return revisions.flatMap((revision, i) =>
    i > 0 && revision < revisions[i - 1]! ? [`not ordered: revision ${revision} after ${revisions[i - 1]}`] : [],
  );
}

function repeated(batches: readonly WatchBatch[]): string[] {
  const seen = new Set<string>();
  return batches.flatMap((batch) =>
    batch.events.flatMap(({ type, kv }) => {
      // A transaction within a transaction may put a key that another one deletes: two events, of two types.
      const name = `${type} of ${JSON.stringify(kv.key)} at ${kv.modRevision}`;
      if (seen.has(name)) return [`not unique: ${name} came twice`];
      seen.add(name);
      return [];
    }),
  );
}

function split(batches: readonly WatchBatch[]): string[] {
  const batchOf = new Map<Revision, number>();
  return batches.flatMap((batch, i) =>
    batch.events.flatMap(({ kv: { modRevision } }) => {
      const first = batchOf.get(modRevision) ?? i;
      batchOf.set(modRevision, first);
      return first === i ? [] : [`not atomic: revision ${modRevision} is in batches ${first} and ${i}`];
    }),
  );
}

/** The revision of a batch covers its own events and everything before, so later batches hold only newer ones. */
function brokenProgress(batches: readonly WatchBatch[]): string[] {
  let covered = 0;
  return batches.flatMap(({ revision, events }, i) => {
    const broken = events.flatMap(({ kv: { modRevision } }) => [
      ...(modRevision <= covered ? [`not bookmarkable: revision ${modRevision} came after progress ${covered}`] : []),
      ...(modRevision > revision ? [`batch ${i} says ${revision} but holds revision ${modRevision}`] : []),
    ]);
    if (revision < covered) broken.push(`progress went back from ${covered} to ${revision}`);
    covered = Math.max(covered, revision);
    return broken;
  });
}

function unlikeHistory(recording: Recording, history: History): string[] {
  const { range, fromRevision, prevKv = false, compactRevision = 0, batches } = recording;
  const through = batches.at(-1)?.revision ?? fromRevision - 1;
  const wanted = history.eventsOf(range, fromRevision, through);
  const got = batches.flatMap((batch) => batch.events);
  const gotNames = new Set(got.map(nameOf));
  const wantedNames = new Map(wanted.map((event) => [nameOf(event), event]));
  return [
    ...wanted.flatMap((event) => (gotNames.has(nameOf(event)) ? [] : [`not reliable: ${nameOf(event)} is missing`])),
    ...got.flatMap((event) => {
      const truth = wantedNames.get(nameOf(event));
      if (!truth) return [`never happened in this range: ${nameOf(event)}`];
      const mayLackPrev = event.kv.modRevision <= compactRevision && event.prevKv === undefined;
      const prevTruth = prevKv && !mayLackPrev ? truth.prevKv : undefined;
      return describePair(event.prevKv) === describePair(prevTruth)
        ? []
        : [`wrong prevKv of ${nameOf(event)}: ${describePair(event.prevKv)}, not ${describePair(prevTruth)}`];
    }),
  ];
}

/** Says everything about an event but its previous pair. */
function nameOf({ type, kv }: WatchEvent): string {
  return `${type} ${describePair(kv)}`;
}

/** Equal text for equal pairs and no others; long values stand there as their start, length and digest. */
function describePair(kv: KeyValue | undefined): string {
  if (!kv) return 'none';
  const { key, value, createRevision, modRevision, version, lease } = kv;
  const start = JSON.stringify(Buffer.from(value.subarray(0, 20)).toString('latin1'));
  const rest = value.length > 20 ? `… ${value.length} bytes ${createHash('sha1').update(value).digest('hex')}` : '';
  return `${JSON.stringify(key)} = ${start}${rest} (${createRevision} ${modRevision} ${version} ${lease})`;
}
