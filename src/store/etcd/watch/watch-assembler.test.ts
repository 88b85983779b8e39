import { describe, expect, it } from 'vitest';
import type { WatchBatch, WatchEvent } from '../../kv.ts';
import type { WatchResponse } from '../messages/messages-watch.ts';
import { WatchAssembler } from './watch-assembler.ts';

const event = (key: string, modRevision: number): WatchEvent => ({
  type: 'put',
  kv: { key, value: new Uint8Array(0), createRevision: modRevision, modRevision, version: 1, lease: 0n },
  prevKv: undefined,
});
const quiet = { revision: 0, created: false, canceled: false, compactRevision: 0, cancelReason: '', fragment: false };
const events = (...list: WatchEvent[]): WatchResponse => ({ ...quiet, revision: 99, events: list });
const piece = (...list: WatchEvent[]): WatchResponse => ({ ...events(...list), fragment: true });
const progress = (revision: number): WatchResponse => ({ ...quiet, revision, events: [] });
const created = (revision: number): WatchResponse => ({ ...progress(revision), created: true });

const short = (batch: WatchBatch | undefined) =>
  batch && `${batch.revision}:${batch.events.map(({ kv }) => `${kv.key}${kv.modRevision}`).join(',')}`;

describe('WatchAssembler', () => {
  it('begins after the revision of the created response when it was not told where', () => {
    const assembler = new WatchAssembler(0);
    expect(assembler.accept(created(7))).toBeUndefined();
    expect(assembler.nextRevision).toBe(8);
    assembler.restart();
    assembler.accept(created(12)); // on another stream: the start stays
    expect(assembler.nextRevision).toBe(8);
  });

  it('names the revision of the last event, not that of the header', () => {
    const assembler = new WatchAssembler(3);
    expect(short(assembler.accept(events(event('a', 3), event('b', 5))))).toBe('5:a3,b5');
    expect(assembler.nextRevision).toBe(6);
  });

  it('drops what it has answered before', () => {
    const assembler = new WatchAssembler(3);
    assembler.accept(events(event('a', 5)));
    expect(assembler.accept(events(event('a', 5)))).toBeUndefined();
    expect(short(assembler.accept(events(event('a', 5), event('b', 6))))).toBe('6:b6');
  });

  it('never splits a revision that comes in pieces', () => {
    const assembler = new WatchAssembler(2);
    expect(short(assembler.accept(piece(event('a', 2), event('b', 3))))).toBe('2:a2');
    expect(assembler.accept(piece(event('c', 3)))).toBeUndefined();
    expect(short(assembler.accept(piece(event('d', 3), event('e', 4))))).toBe('3:b3,c3,d3');
    expect(short(assembler.accept(events(event('f', 4), event('g', 5))))).toBe('5:e4,f4,g5');
  });

  it('forgets the pieces of a stream that broke, and asks for them again', () => {
    const assembler = new WatchAssembler(2);
    assembler.accept(piece(event('a', 2), event('b', 3)));
    assembler.restart();
    expect(assembler.nextRevision).toBe(3);
    expect(short(assembler.accept(events(event('b', 3), event('c', 3))))).toBe('3:b3,c3');
  });

  it('passes progress on, and resumes after it', () => {
    const assembler = new WatchAssembler(3);
    assembler.accept(events(event('a', 4)));
    expect(short(assembler.accept(progress(4)))).toBe('4:');
    expect(short(assembler.accept(progress(9)))).toBe('9:');
    expect(assembler.nextRevision).toBe(10);
  });

  it('drops progress of a member that lags, and progress before a start in the future', () => {
    const assembler = new WatchAssembler(20);
    expect(assembler.accept(progress(10))).toBeUndefined();
    expect(assembler.accept(progress(18))).toBeUndefined();
    expect(short(assembler.accept(progress(19)))).toBe('19:');
    expect(short(assembler.accept(events(event('a', 25))))).toBe('25:a25');
    expect(assembler.accept(progress(24))).toBeUndefined();
  });
});
