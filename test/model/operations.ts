/**
 * Random operations for the model test. Keys, revisions and leases are few, so that things meet: an operation says
 * "five revisions ago" or "lease 2", and is made concrete against the state it finds.
 *
 * Left out on purpose are the oddities of etcd that the contract does not promise: deletes without end beside puts,
 * and transactions that fail for two reasons at once.
 */
import fc from 'fast-check';

export type RangeShape =
  | { readonly kind: 'key' | 'prefix' | 'from'; readonly key: string }
  | { readonly kind: 'interval'; readonly keys: readonly [string, string] };

export type ReadShape = {
  /** How many revisions before now; negative for the future, undefined for now. */
  readonly back: number | undefined;
  readonly limit: number | undefined;
  readonly keysOnly: boolean;
  readonly countOnly: boolean;
};

export type OpShape =
  | {
      readonly kind: 'put';
      readonly key: string;
      readonly value: string;
      readonly lease: number;
      readonly prevKv: boolean;
      readonly keeps: 'value' | 'lease' | undefined;
    }
  | { readonly kind: 'delete'; readonly range: RangeShape; readonly prevKv: boolean }
  | { readonly kind: 'range'; readonly range: RangeShape; readonly read: ReadShape }
  | ({ readonly kind: 'txn' } & TxnShape);

export type TxnShape = {
  readonly compare: readonly CompareShape[];
  readonly then: readonly OpShape[];
  readonly else: readonly OpShape[];
};

export type CompareShape = {
  readonly range: RangeShape;
  readonly is: '=' | '!=' | '<' | '>';
  readonly target: 'modRevision' | 'createRevision' | 'version' | 'lease' | 'value';
  /** Around what is there: the number, lease or value of some key, moved by this much. */
  readonly key: string;
  readonly shift: number;
};

export type Operation =
  | ({ readonly kind: 'txn' } & TxnShape)
  | { readonly kind: 'range'; readonly range: RangeShape; readonly read: ReadShape }
  | { readonly kind: 'get'; readonly key: string; readonly back: number | undefined }
  | { readonly kind: 'compact'; readonly back: number; readonly physical: boolean }
  | { readonly kind: 'grant' | 'revoke' | 'keepalive' | 'leaseInfo'; readonly lease: number }
  | { readonly kind: 'openWatch'; readonly range: RangeShape; readonly back: number; readonly prevKv: boolean }
  | { readonly kind: 'readWatch'; readonly range: RangeShape; readonly back: number; readonly prevKv: boolean }
  | { readonly kind: 'readOpenWatches' | 'reopen' };

const key = fc.constantFrom('a', 'a\0', 'ab', 'b', 'b\xff', 'c');
const range: fc.Arbitrary<RangeShape> = fc.oneof(
  fc.record({ kind: fc.constantFrom('key', 'prefix', 'from' as const), key }),
  fc.record({ kind: fc.constant('interval' as const), keys: fc.tuple(key, key) }),
  fc.constant({ kind: 'prefix', key: '' } as const),
);
const boundedRange = range.filter(({ kind }) => kind !== 'from');
const back = fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 0, max: 12 }) }, fc.integer({ min: -3, max: -1 }));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const read: fc.Arbitrary<ReadShape> = fc.record({
  back: maybe(back),
  limit: maybe(fc.integer({ min: 1, max: 4 })),
  keysOnly: fc.boolean(),
  countOnly: fc.nat(5).map((n) => n === 0),
});
/** 0 is none, 1 is there at the start, any other may or may not be granted at the time. */
const lease = fc.constantFrom(0, 0, 0, 1, 1, 2);
const value = fc.constantFrom('', 'x', 'y', 'y\0', 'long '.repeat(50));

const keeps = fc.constantFrom(undefined, undefined, undefined, undefined, 'value' as const, 'lease' as const);
const put = fc.record({ kind: fc.constant('put' as const), key, value, lease, prevKv: fc.boolean(), keeps });
const remove = fc.record({ kind: fc.constant('delete' as const), range: boundedRange, prevKv: fc.boolean() });
const readOp = fc.record({ kind: fc.constant('range' as const), range, read });
const compare: fc.Arbitrary<CompareShape> = fc.record({
  range,
  is: fc.constantFrom('=', '!=', '<', '>' as const),
  target: fc.constantFrom('modRevision', 'createRevision', 'version', 'lease', 'value' as const),
  key,
  shift: fc.integer({ min: -1, max: 1 }),
});

const opsUpTo = (maxLength: number, more: fc.Arbitrary<OpShape>[] = []): fc.Arbitrary<OpShape[]> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: put },
      { weight: 2, arbitrary: remove },
      { weight: 2, arbitrary: readOp },
      ...more.map((arbitrary) => ({ weight: 2, arbitrary })),
    ),
    { maxLength },
  );
const txnOf = (branch: fc.Arbitrary<OpShape[]>) =>
  fc.record({
    kind: fc.constant('txn' as const),
    compare: fc.array(compare, { maxLength: 2 }),
    then: branch,
    else: branch,
  });
/** Transactions in transactions in transactions: deeper ones show nothing new. */
const innermost = txnOf(opsUpTo(2));
const ops = opsUpTo(4, [txnOf(opsUpTo(2, [innermost]))]);

const oneOp = (op: fc.Arbitrary<OpShape>): fc.Arbitrary<Operation> =>
  op.map((only) => ({ kind: 'txn', compare: [], then: [only], else: [] }));
const watchShape = { range, back, prevKv: fc.boolean() };

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 8, arbitrary: oneOp(put) },
  { weight: 4, arbitrary: oneOp(remove) },
  {
    weight: 8,
    arbitrary: txnOf(ops),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('range' as const), range, read }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('get' as const), key, back: maybe(back) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), back, physical: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('grant', 'grant', 'revoke', 'keepalive', 'leaseInfo' as const),
      lease: fc.constantFrom(1, 1, 2, 3),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('openWatch' as const), ...watchShape }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('readWatch' as const), ...watchShape }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('readOpenWatches', 'reopen' as const) }) },
);

export function operations(count: number): fc.Arbitrary<Operation[]> {
  return fc.array(operation, { minLength: Math.floor(count / 2), maxLength: count, size: 'max' });
}
