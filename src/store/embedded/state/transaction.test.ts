import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import type { Key, Op, Txn } from '../../kv.ts';
import { Garbage } from './garbage.ts';
import { type Change, Head } from './head.ts';
import { KeyIndex } from './key-index.ts';
import { Leases } from './leases.ts';
import { keyValueOf } from './log-record.ts';
import { addToIndex } from './recovery.ts';
import { checkTxn, runTxn, type TxnContext, type TxnOutcome } from './transaction.ts';

const bytes = (text: string) => Buffer.from(text);
const put = (key: Key, value = '', lease = 0n): Op => ({ kind: 'put', key, value: bytes(value), lease, prevKv: true });
const remove = (prefix: Key): Op => ({ kind: 'delete', range: { prefix }, prevKv: true });
const read = (prefix: Key, limit = 0): Op => ({ kind: 'range', range: { prefix }, options: { limit } });

let index: KeyIndex;
let head: Head;
let leases: Leases;
let context: TxnContext;
/** What the log would hold, by revision and sub. */
let records: Map<string, Buffer>;

beforeEach(() => {
  index = new KeyIndex();
  records = new Map();
  head = new Head(1, index, (key, version) =>
    keyValueOf(key, version, records.get(`${version.modRevision}/${version.sub}`)!),
  );
  leases = new Leases(new FakeClock());
  const readRange = () => {
    throw new Error('the past was asked for');
  };
  context = { head, leases, readRange };
});

const run = (...then: Op[]): TxnOutcome => runTxn({ then }, context);

function publish(changes: readonly Change[]): void {
  const garbage = new Garbage();
  for (const { key, version, record } of changes) {
    records.set(`${version.modRevision}/${version.sub}`, record);
    addToIndex(index, garbage, key, version);
  }
  head.published(changes);
}

/** The result of the last operation in one line per pair. */
function pairsOf({ results }: TxnOutcome): string[] {
  const result = results.at(-1)!;
  if (result.kind !== 'range') throw new Error('the last operation does not read');
  return result.kvs.map((kv) => `${kv.key}=${Buffer.from(kv.value)} ${kv.modRevision}/${kv.version}`);
}

describe('the head', () => {
  it('shows a change to the next transaction before anything is published', () => {
    publish(run(put('a', '1'), put('c', '1')).changes);
    run(put('a', '2'), put('b', '2'));
    run(remove('c'));
    expect(pairsOf(run(read('')))).toEqual(['a=2 3/2', 'b=2 3/1']);
    expect(head.count({ prefix: '' })).toBe(2);
    expect(index.countLive({ start: '', end: undefined })).toBe(2);
  });

  it('shows the same after publication as before', () => {
    const first = run(put('a', '1'), put('b', '1'), put('c', '1')).changes;
    const second = run(put('b', '2'), remove('a')).changes;
    const before = pairsOf(run(read('')));
    publish(first);
    expect(pairsOf(run(read('')))).toEqual(before);
    publish(second);
    expect(pairsOf(run(read('')))).toEqual(before);
    expect(before).toEqual(['b=2 3/2', 'c=1 2/1']);
  });

  it('keeps a later change of a key when an earlier one of it is published', () => {
    const first = run(put('a', 'old')).changes;
    run(put('a', 'new'));
    publish(first);
    expect(head.latest('a')).toMatchObject({ modRevision: 3, version: 2, createRevision: 2 });
    expect(Buffer.from(head.read({ key: 'a', version: head.latest('a')! }).value).toString()).toBe('new');
  });

  it('mixes published and unpublished keys in order, up to the limit, and counts all', () => {
    publish(run(put('b'), put('d'), put('f')).changes);
    run(put('a'), put('c'), put('e'));
    const outcome = run(read('', 4));
    expect(pairsOf(outcome).map((pair) => pair[0])).toEqual(['a', 'b', 'c', 'd']);
    expect(outcome.results[0]).toMatchObject({ count: 6, more: true });
  });

  it('counts a key once that is deleted and put again while on its way', () => {
    publish(run(put('a'), put('b')).changes);
    run(remove('a'));
    expect(head.count({ prefix: '' })).toBe(1);
    run(put('a'));
    expect(head.count({ prefix: '' })).toBe(2);
    expect(head.latest('a')).toMatchObject({ createRevision: 4, version: 1 });
  });
});

describe('a transaction', () => {
  it('gives all its changes one revision and each its own place', () => {
    publish(run(put('x1'), put('x2')).changes);
    const { changes } = run(put('a'), remove('x'), put('b'));
    expect(changes.map(({ key, version }) => [key, version.modRevision, version.sub])).toEqual([
      ['a', 3, 0],
      ['x1', 3, 1],
      ['x2', 3, 2],
      ['b', 3, 3],
    ]);
    expect(head.revision).toBe(3);
  });

  it('takes no revision when it changes nothing', () => {
    expect(run(remove('none'), read('')).changes).toEqual([]);
    expect(head.revision).toBe(1);
  });

  it('reads its own changes at the revision it will take', () => {
    const { results } = run(read(''), put('a'), read(''));
    expect(results.map((result) => result.kind === 'range' && [result.revision, result.count])).toEqual([
      [1, 0],
      false,
      [2, 1],
    ]);
  });

  it('touches nothing when the branch that would run names a lease that is not there', () => {
    const txn: Txn = { then: [put('a'), put('b', '', 77n)] };
    expect(() => runTxn(txn, context)).toThrow('Cannot use lease 77: there is no such lease');
    expect(head.revision).toBe(1);
    expect(head.count({ prefix: '' })).toBe(0);
  });

  it('moves a key from lease to lease, and off it with a delete or a put without one', () => {
    leases.add(1n, 10);
    leases.add(2n, 10);
    const keysOf = () => [1n, 2n].map((id) => [...leases.get(id)!.keys].join());
    run(put('a', '', 1n), put('b', '', 1n));
    expect(keysOf()).toEqual(['a,b', '']);
    run(put('a', '', 2n));
    expect(keysOf()).toEqual(['b', 'a']);
    run(put('a'), remove('b'));
    expect(keysOf()).toEqual(['', '']);
  });

  it('answers the pairs as they were before its own change', () => {
    run(put('a', 'first'));
    const { results } = run(put('a', 'second'));
    expect(results[0]).toMatchObject({ prevKv: { modRevision: 2 } });
    const deleted = run(remove('a')).results[0]!;
    expect(deleted.kind === 'delete' && deleted.prevKvs.map((kv) => Buffer.from(kv.value).toString())).toEqual([
      'second',
    ]);
  });
});

describe('what nothing else can run beside', () => {
  const compare = { range: { prefix: '' }, target: 'value', is: '!=', than: bytes('no') } as const;
  const fill = (count: number) => {
    for (let i = 0; i < count; i += 100)
      publish(run(...Array.from({ length: 100 }, (_, j) => put(`k${i + j}`, 'x'))).changes);
  };

  it('compares and reads go over 100,000 values or a million keys, and no more', () => {
    fill(1000);
    const times = <T>(count: number, one: T) => Array<T>(count).fill(one);
    expect(runTxn({ compare: times(100, compare) }, context).succeeded).toBe(true);
    expect(() => runTxn({ compare: times(101, compare) }, context)).toThrow(/more than 100000 values or 1000000 keys/);
    expect(run(...times(100, read(''))).results).toHaveLength(100);
    expect(() => run(...times(101, read('')))).toThrow(/read outside of it/);
    expect(run(...times(128, read('', 10))).results).toHaveLength(128);
    const revision = { ...compare, target: 'modRevision', is: '>', than: 0 } as const;
    expect(runTxn({ compare: times(128, revision) }, context).succeeded).toBe(true);
  });

  it('ranges of keys are as many as one transaction can have, those within it counted', () => {
    const inner = (count: number): Op => ({ kind: 'txn', txn: { then: Array<Op>(count).fill(read('')) } });
    const check = (then: Op[]) => () => checkTxn({ then }, { maxOps: 128, maxRequestBytes: 1000 });
    expect(check([...Array<Op>(6).fill(inner(64))])).not.toThrow();
    expect(check([...Array<Op>(6).fill(inner(64)), inner(1)])).toThrow(/more than 384 ranges of keys/);
  });
});
