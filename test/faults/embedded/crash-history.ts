/**
 * What must be true of a store whose writer was killed, round after round: it keeps the whole history as told by the
 * writers, and after each round holds the store against it.
 *
 * A transaction that was tried and not answered may be there or not, but whole, once, and at a revision of its own.
 */
import { expect } from 'vitest';
import { isStoreError } from '../../../src/store/errors.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Key, KeyValue, Revision, Store, WatchEvent } from '../../../src/store/kv.ts';
import { plain } from '../../support/store/store-under-test.ts';
import { eventsIn, readThrough } from '../../support/store/watching.ts';
import { type Attempt, keysOf, type Line, valueFor } from './crash-script.ts';

export class CrashHistory {
  /** What happened at each revision, from the first. */
  readonly #happened = new Map<Revision, Attempt>();
  #revision: Revision = 1;
  #compactRevision: Revision = 0;

  get transactions(): number {
    return this.#happened.size;
  }

  get compactRevision(): Revision {
    return this.#compactRevision;
  }

  /** Checks everything after a round that said these lines. */
  async check(store: Store, lines: readonly Line[]): Promise<void> {
    const revision = await store.revision();
    this.#checkCompaction(await compactRevisionOf(store), lines);
    const told = await this.#replay(store, revision);
    const unanswered = this.#recordAnswers(lines, revision);
    this.#recordUnanswered(told, unanswered);
    this.#revision = revision;
    this.#checkEvents(told, revision);
    await this.#checkState(store, revision);
    await this.#checkState(store, Math.max(this.#compactRevision, Math.floor((this.#compactRevision + revision) / 2)));
  }

  #checkCompaction(found: Revision, lines: readonly Line[]): void {
    let least = this.#compactRevision;
    const allowed = [least];
    for (const line of lines) {
      if (line.tell === 'compacting') allowed.push(line.revision);
      if (line.tell === 'compacted') least = Math.max(least, line.revision);
    }
    expect(allowed).toContain(found);
    expect(found).toBeGreaterThanOrEqual(least);
    this.#compactRevision = found;
  }

  /** The events that a watch of everything tells, from the compaction to now, revision by revision. */
  async #replay(store: Store, revision: Revision): Promise<Map<Revision, WatchEvent[]>> {
    await using watch = store.watch(everyKey, { fromRevision: Math.max(1, this.#compactRevision) });
    const told = new Map<Revision, WatchEvent[]>();
    for (const event of eventsIn(await readThrough(watch, revision))) {
      const { modRevision } = event.kv;
      expect(modRevision).toBeGreaterThanOrEqual(Math.max(0, ...[...told.keys()].slice(-1)));
      told.set(modRevision, [...(told.get(modRevision) ?? []), event]);
    }
    return told;
  }

  /** Every answered write takes its revision, above all rounds before; what remains was not answered. */
  #recordAnswers(lines: readonly Line[], revision: Revision): Attempt[] {
    const open = new Map<string, Attempt>();
    for (const line of lines) {
      if (line.tell === 'try') open.set(line.id, line);
      if (line.tell !== 'ack') continue;
      expect(line.revision, 'answered revisions are above those of earlier rounds').toBeGreaterThan(this.#revision);
      expect(line.revision, 'an answered write is there').toBeLessThanOrEqual(revision);
      expect(this.#happened.has(line.revision), `revision ${line.revision} was given twice`).toBe(false);
      this.#happened.set(line.revision, open.get(line.id)!);
      open.delete(line.id);
    }
    return [...open.values()];
  }

  /** A writer has one transaction in flight at a time, so who wrote tells which one it was. */
  #recordUnanswered(told: Map<Revision, WatchEvent[]>, unanswered: Attempt[]): void {
    for (const [revision, events] of told) {
      if (this.#happened.has(revision)) continue;
      const [first] = events;
      const at = unanswered.findIndex(
        ({ writer, kind }) => first!.kv.key.startsWith(`w${writer}/`) && first!.type === kind,
      );
      expect(at, `revision ${revision} was tried by nobody, or came twice`).toBeGreaterThanOrEqual(0);
      this.#happened.set(revision, ...(unanswered.splice(at, 1) as [Attempt]));
    }
  }

  #checkEvents(told: Map<Revision, WatchEvent[]>, revision: Revision): void {
    for (let at = Math.max(2, this.#compactRevision); at <= revision; at++) {
      const attempt = this.#happened.get(at);
      expect(attempt, `revision ${at} has a known transaction`).toBeDefined();
      const expected = keysOf(attempt!.writer).map((key) => describeChange(attempt!, key));
      const found = (told.get(at) ?? []).map(({ type, kv }) => `${type} ${kv.key} ${Buffer.from(kv.value)}`);
      expect(found, `the transaction of revision ${at}`).toEqual(expected);
    }
  }

  async #checkState(store: Store, revision: Revision): Promise<void> {
    /** The last put of each writer whose keys are there, with what its keys have been through. */
    const last = new Map<
      number,
      { attempt: Attempt; createRevision: Revision; modRevision: Revision; version: number }
    >();
    for (let modRevision = 2; modRevision <= revision; modRevision++) {
      const attempt = this.#happened.get(modRevision)!;
      const before = last.get(attempt.writer);
      if (attempt.kind === 'delete') last.delete(attempt.writer);
      else
        last.set(attempt.writer, {
          attempt,
          createRevision: before?.createRevision ?? modRevision,
          modRevision,
          version: (before?.version ?? 0) + 1,
        });
    }
    const expected = [...last.values()].flatMap(({ attempt, ...facts }) =>
      keysOf(attempt.writer).map((key): KeyValue => ({ key, value: valueFor(attempt, key), ...facts, lease: 0n })),
    );
    const { kvs } = await store.range(everyKey, { revision });
    const sorted = expected.sort((a, b) => (a.key < b.key ? -1 : 1));
    expect(kvs.map(plain), `the state at revision ${revision}`).toEqual(sorted.map(plain));
  }
}

function describeChange(attempt: Attempt, key: Key): string {
  return `${attempt.kind} ${key} ${attempt.kind === 'put' ? valueFor(attempt, key) : ''}`;
}

async function compactRevisionOf(store: Store): Promise<Revision> {
  try {
    await store.get('any', { revision: 1 });
    return 0;
  } catch (err) {
    if (!isStoreError(err, 'Compacted')) throw err;
    return err.compactRevision!;
  }
}
