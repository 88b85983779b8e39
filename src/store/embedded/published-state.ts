/**
 * What is durable, and so all that anybody is shown: the index as of `revision`, and the log behind it.
 *
 * Always true: `revision` is the highest one that is on disk with everything below it; the index holds exactly that. A
 * read at a revision sees that revision and nothing else, or is refused because it is compacted or has not come yet.
 */
import { StoreError } from '../errors.ts';
import { type Bounds, boundsOf, checkNotNegative, isInBounds } from '../keys.ts';
import type { Key, KeyRange, KeyValue, RangeOptions, RangeResult, Revision, WatchEvent } from '../kv.ts';
import type { Compactor } from './compactor.ts';
import type { LogEngine } from './engine/engine.ts';
import type { Garbage } from './state/garbage.ts';
import type { Change } from './state/head.ts';
import { isLive, type KeyIndex, type Version } from './state/key-index.ts';
import { decodeRecord, isIntact, keyValueOf } from './state/log-record.ts';
import { RangeScan } from './state/range-scan.ts';
import { addToIndex, type Recovered } from './state/recovery.ts';
import type { HubChange } from './watch/watch-hub.ts';

/** How much of the log one look of a watcher that is behind goes over. */
const LOG_STRETCH = { records: 1000, bytes: 1024 * 1024 };

export class PublishedState {
  revision: Revision;
  readonly #engine: LogEngine;
  readonly #index: KeyIndex;
  readonly #garbage: Garbage;
  readonly #compactor: Compactor;

  constructor(engine: LogEngine, { index, garbage, revision }: Recovered, compactor: Compactor) {
    this.revision = revision;
    this.#engine = engine;
    this.#index = index;
    this.#garbage = garbage;
    this.#compactor = compactor;
  }

  get(key: Key, asked: Revision | undefined): KeyValue | undefined {
    const version = this.#index.at(key, this.#readable(asked));
    return version && this.read(key, version);
  }

  /** A range read, to be done in steps. */
  scan(bounds: Bounds, options: RangeOptions): RangeScan {
    const at = this.#readable(options.revision);
    checkNotNegative('limit', options.limit ?? 0);
    return new RangeScan(this.#index, bounds, at, at === this.revision, options, this.read);
  }

  /** A range read in one go, for what must not be interrupted. */
  readonly readRange = (bounds: Bounds, options: RangeOptions): RangeResult => {
    const scan = this.scan(bounds, options);
    while (!scan.step(Number.POSITIVE_INFINITY));
    return scan.result(this.revision, options);
  };

  readonly read = (key: Key, version: Version, take?: (bytes: number) => Buffer): KeyValue => {
    const record = this.#engine.read({ revision: version.modRevision, sub: version.sub }, take);
    if (record && isIntact(record)) return keyValueOf(key, version, record);
    const what = `its record of revision ${version.modRevision} is ${record ? 'damaged' : 'missing'}`;
    throw new StoreError('Corrupt', `Cannot read ${JSON.stringify(key)}: ${what}`);
  };

  /** The matching events from a revision on, one stretch of the log; complete up to and with `revision`. */
  readLog(range: KeyRange, from: Revision, wantsPrevKv: boolean): { events: WatchEvent[]; revision: Revision } {
    const bounds = boundsOf(range);
    const events: WatchEvent[] = [];
    let last: Revision | undefined;
    // Compaction leaves holes up to its mark only; the first change of all has revision 2.
    const holesUpTo = Math.max(1, this.#compactor.revision);
    for (const { revision, record } of this.#engine.scan(from, LOG_STRETCH.records, LOG_STRETCH.bytes)) {
      if (revision > this.revision) break; // durable, but its turn to be shown has not come
      if (revision > Math.max(last ?? from - 1, holesUpTo) + 1) throw missing(last === undefined ? from : last + 1);
      if (!isIntact(record))
        throw new StoreError('Corrupt', `Cannot read the log: a record of revision ${revision} is damaged`);
      last = revision;
      const kv = decodeRecord(record);
      if (!isInBounds(kv.key, bounds)) continue;
      const before = wantsPrevKv ? this.#index.at(kv.key, revision - 1) : undefined;
      events.push(eventOf(kv, before && this.read(kv.key, before)));
    }
    if (last === undefined && from <= this.revision && from > holesUpTo) throw missing(from);
    return { events, revision: last ?? this.revision };
  }

  /** Takes in what has become durable; with `isHeard`, tells it as the watchers are to hear it. */
  publish(changes: readonly Change[], isHeard: boolean): HubChange[] {
    const news: HubChange[] = [];
    for (const change of changes) {
      const superseded = addToIndex(this.#index, this.#garbage, change.key, change.version);
      if (isHeard) news.push(this.#newsOf(change, superseded));
    }
    const last = changes[changes.length - 1];
    if (last) this.revision = last.version.modRevision;
    return news;
  }

  #newsOf({ key, version, record }: Change, superseded: Version | undefined): HubChange {
    const kv = isLive(version) ? keyValueOf(key, version, record) : decodeRecord(record);
    // What was put and deleted in one revision has been, before it, what it was at the revision before.
    const isWithin = superseded?.modRevision === version.modRevision;
    const before = isWithin ? this.#index.at(key, version.modRevision - 1) : superseded;
    const readPrevKv = () => (before && isLive(before) ? this.read(key, before) : undefined);
    return { event: eventOf(kv, undefined), bytes: record.length, readPrevKv };
  }

  /** The revision to read at; 0 and none mean now. */
  #readable(asked: Revision | undefined): Revision {
    if (!asked) return this.revision;
    checkNotNegative('revision', asked);
    if (asked > this.revision) {
      const message = `Cannot read at revision ${asked}: the store is at ${this.revision}`;
      throw new StoreError('FutureRevision', message, { currentRevision: this.revision });
    }
    const compactRevision = this.#compactor.revision;
    if (asked < compactRevision) {
      const message = `Cannot read at revision ${asked}: history before ${compactRevision} is compacted`;
      throw new StoreError('Compacted', message, { compactRevision });
    }
    return asked;
  }
}

function missing(from: Revision): StoreError {
  return new StoreError('Corrupt', `Cannot read the log: after revision ${from - 1} a record is missing`);
}

function eventOf(kv: KeyValue, prevKv: KeyValue | undefined): WatchEvent {
  return { type: kv.createRevision === 0 ? 'delete' : 'put', kv, prevKv };
}
