/**
 * Random requests in etcd's own words, also those that make no sense: empty intervals, numbers below zero, orders that
 * there are not, revisions that are gone or to come, several faults at once.
 *
 * Left out: deletes without an end beside puts, which etcd overlooks and we refuse; and what to sort by that is unknown,
 * of which etcd dies.
 */
import fc from 'fast-check';

export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

const key = fc.constantFrom('a', 'b', 'b\0', 'ba', 'c', '\xff').map(bytes);
const maybeNoKey = fc.oneof({ weight: 30, arbitrary: key }, { weight: 1, arbitrary: fc.constant(bytes('')) });
const end = fc.constantFrom(undefined, '\0', 'b', 'c', '\xff\xff').map((text) => text && bytes(text));
const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 3) => fc.option(arbitrary, { nil: undefined, freq });
const seldom = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 8 }).map((v) => v);
const withoutUndefined = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined && field !== ''));

/** A request, given the revision that the store is at. */
type Make = (now: number) => object;
type Shape = Record<string, unknown>;

/** Said relative to now; below zero as it is. */
const revision = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 30 }).map((back) => ({ back })) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: -1 }).map((back) => ({ back })) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: -1 }).map((at) => ({ at })) },
);
type RevisionShape = { readonly back: number } | { readonly at: number };
const revisionAt = (shape: unknown, now: number) => {
  if (shape === undefined) return undefined;
  const asked = shape as RevisionShape;
  return 'at' in asked ? asked.at : Math.max(1, now - asked.back);
};
const bound = fc.integer({ min: -2, max: 40 });

const rangeShape: fc.Arbitrary<Shape> = fc.record({
  key: maybeNoKey,
  range_end: end,
  limit: maybe(fc.integer({ min: -1, max: 4 })),
  revision: seldom(revision),
  sort_order: maybe(fc.integer({ min: -1, max: 3 })),
  sort_target: maybe(fc.nat(4)),
  keys_only: maybe(fc.boolean()),
  count_only: maybe(fc.boolean()),
  serializable: maybe(fc.boolean()),
  min_mod: seldom(bound),
  max_mod: seldom(bound),
  min_create: seldom(bound),
  max_create: seldom(bound),
});
const FILTERS = ['min_mod', 'max_mod', 'min_create', 'max_create'];
const range = rangeShape.map(
  (shape): Make =>
    (now) => {
      const filters = FILTERS.map((name) => {
        const value = shape[name] as number | undefined;
        return [name, value === undefined || value <= 0 ? value : Math.max(1, now - value)];
      });
      const at = revisionAt(shape.revision, now);
      return withoutUndefined({ ...shape, ...Object.fromEntries(filters), revision: at });
    },
);

const lease = fc.constantFrom(undefined, undefined, undefined, undefined, 1234, 99);
const put = fc
  .record({
    key: maybeNoKey,
    value: fc.string({ maxLength: 4 }).map(bytes),
    lease,
    prev_kv: maybe(fc.boolean()),
    ignore: fc.constantFrom(undefined, undefined, undefined, 'value', 'lease', 'both', 'value and more'),
  })
  .map(({ ignore, ...shape }): Make => {
    const isValueIgnored = ignore?.startsWith('value') || ignore === 'both';
    const isLeaseIgnored = ignore === 'lease' || ignore === 'both';
    return () =>
      withoutUndefined({
        ...shape,
        ...(isValueIgnored && ignore !== 'value and more' && { value: undefined }),
        ...(isLeaseIgnored && { lease: undefined }),
        ...(isValueIgnored && { ignore_value: true }),
        ...(isLeaseIgnored && { ignore_lease: true }),
      });
  });
const deleteShape = fc.record({ key: maybeNoKey, range_end: end, prev_kv: maybe(fc.boolean()) });
const del = deleteShape.map(
  (shape): Make =>
    () =>
      withoutUndefined(shape),
);
const boundedDelete = deleteShape
  .filter(({ range_end }) => String(range_end) !== '\0')
  .map(
    (shape): Make =>
      () =>
        withoutUndefined(shape),
  );

const as = (name: string, make: fc.Arbitrary<Make>) =>
  make.map(
    (one): Make =>
      (now) => ({ [name]: one(now) }),
  );
const nothing = fc.constant<Make>(() => ({}));

const operand = fc.constantFrom('version', 'create_revision', 'mod_revision', 'lease', 'value');
const compare = fc
  .record({
    result: fc.integer({ min: 0, max: 4 }),
    target: fc.integer({ min: 0, max: 5 }),
    key: maybeNoKey,
    range_end: end,
    // Mostly what belongs to the target, sometimes what does not, or none.
    says: maybe(operand, 6),
    isFitting: fc.nat(9).map((n) => n > 0),
    than: fc.integer({ min: -1, max: 4 }),
    back: maybe(fc.nat(10)),
    value: fc.string({ maxLength: 2 }).map(bytes),
  })
  .map(
    ({ says, isFitting, than, back, value, ...shape }): Make =>
      (now) => {
        const fitting = ['version', 'create_revision', 'mod_revision', 'value', 'lease'][shape.target];
        const name = isFitting ? fitting : says;
        const number = name?.endsWith('revision') && back !== undefined ? Math.max(1, now - back) : than;
        return withoutUndefined({ ...shape, ...(name && { [name]: name === 'value' ? value : number }) });
      },
  );

const many = (makes: readonly Make[], now: number) => makes.map((make) => make(now));
const txnOf = (ops: fc.Arbitrary<Make>, maxLength: number) =>
  fc
    .record({
      compare: fc.array(compare, { maxLength: 2 }),
      success: fc.array(ops, { maxLength }),
      failure: fc.array(ops, { maxLength: 2 }),
    })
    .map(
      (shape): Make =>
        (now) => ({
          compare: many(shape.compare, now),
          success: many(shape.success, now),
          failure: many(shape.failure, now),
        }),
    );
const plainOp = fc.oneof(
  { weight: 8, arbitrary: as('range', range) },
  { weight: 8, arbitrary: as('put', put) },
  { weight: 8, arbitrary: as('del', boundedDelete) },
  { weight: 1, arbitrary: nothing },
);
const readOnly = txnOf(as('range', range), 4);
const innermost = as('txn', txnOf(plainOp, 2));
const inner = as('txn', txnOf(fc.oneof({ weight: 4, arbitrary: plainOp }, innermost), 3));
const txn = txnOf(fc.oneof({ weight: 5, arbitrary: plainOp }, { weight: 2, arbitrary: inner }), 4);
const nestedReads = txnOf(as('txn', readOnly), 3);

const compaction = fc.record({ revision, physical: fc.boolean() }).map(
  (shape): Make =>
    (now) => ({
      physical: shape.physical,
      revision: revisionAt(shape.revision, now),
    }),
);

const ask = (weight: number, service: string, method: string, make: fc.Arbitrary<Make>) => ({
  weight,
  arbitrary: make.map((one): [string, string, Make] => [service, method, one]),
});
const id = fc.constantFrom(1234, 99);

export const request: fc.Arbitrary<[service: string, method: string, make: Make]> = fc.oneof(
  ask(10, 'KV', 'Put', put),
  ask(10, 'KV', 'Range', range),
  ask(4, 'KV', 'DeleteRange', del),
  ask(8, 'KV', 'Txn', txn),
  ask(4, 'KV', 'Txn', readOnly),
  ask(2, 'KV', 'Txn', nestedReads),
  ask(1, 'KV', 'Compact', compaction),
  ask(
    1,
    'Lease',
    'LeaseGrant',
    id.map(
      (one): Make =>
        () => ({ id: one, ttl: 5000 }),
    ),
  ),
  ask(
    1,
    'Lease',
    'LeaseRevoke',
    id.map(
      (one): Make =>
        () => ({ id: one }),
    ),
  ),
);
