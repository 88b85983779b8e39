/**
 * Whether a transaction may change a key twice, by etcd's rules for transactions within transactions:
 *
 * - of the operations of one list, a put excludes another put of its key, also one in a transaction of the list, and every
 *   delete that covers it, wherever that stands; a delete in the list excludes puts in its transactions likewise;
 * - of two transactions in the list, a put excludes puts of its key in the other, and deletes in the one before it; a
 *   delete after it may take it away again;
 * - the two branches of a transaction exclude each other, so nothing in one is held against the other.
 *
 * A delete without an end counts like any other, which etcd overlooks. Time grows with the operations times the depth
 * of the transactions, never with puts times deletes.
 */
import { type Bounds, boundsOf } from './keys.ts';
import type { Key, Op } from './kv.ts';

/** A key that the list may change twice. */
export function keyChangedTwice(ops: readonly Op[]): Key | undefined {
  if (ops.length === 1 && ops[0]!.kind !== 'txn') return undefined; // as nearly all that servers send
  const changes = changesOf(ops);
  return typeof changes === 'string' ? changes : undefined;
}

type Changes = { readonly puts: Set<Key>; readonly deletes: KeySpans };

/** What the list may put and delete, or a key that it may change twice. */
function changesOf(ops: readonly Op[]): Changes | Key {
  const deletes = new KeySpans();
  deletes.add(ops.flatMap((op) => (op.kind === 'delete' ? [boundsOf(op.range)] : [])));
  let puts = new Set<Key>();
  for (const op of ops) {
    if (op.kind !== 'txn') continue;
    const branches: Changes[] = [];
    for (const branch of [op.txn.then ?? [], op.txn.else ?? []]) {
      if (branch.length === 0) continue;
      const changes = changesOf(branch);
      if (typeof changes === 'string') return changes;
      const twice = firstIn(changes.puts, deletes) ?? firstCommon(puts, changes.puts);
      if (twice !== undefined) return twice;
      branches.push(changes);
    }
    for (const changes of branches) {
      puts = union(puts, changes.puts);
      deletes.addAll(changes.deletes);
    }
  }
  for (const op of ops) {
    if (op.kind !== 'put') continue;
    if (puts.has(op.key) || deletes.has(op.key)) return op.key;
    puts.add(op.key);
  }
  return { puts, deletes };
}

function firstIn(keys: ReadonlySet<Key>, spans: KeySpans): Key | undefined {
  if (spans.isEmpty) return undefined;
  for (const key of keys) if (spans.has(key)) return key;
  return undefined;
}

function firstCommon(a: ReadonlySet<Key>, b: ReadonlySet<Key>): Key | undefined {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  for (const key of small) if (large.has(key)) return key;
  return undefined;
}

/** In the larger of the two: what is passed upwards through many levels is not copied at each. */
function union(a: Set<Key>, b: Set<Key>): Set<Key> {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  for (const key of small) large.add(key);
  return large;
}

/**
 * A set of spans that says whether one of them holds a key: runs of disjoint spans in order, each run more than twice as
 * long as the next, so that there are few of them and a span is moved seldom.
 */
class KeySpans {
  #runs: Bounds[][] = [];

  get isEmpty(): boolean {
    return this.#runs.length === 0;
  }

  add(spans: readonly Bounds[]): void {
    const sorted = spans.toSorted((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
    if (sorted.length > 0) this.#push(joined(sorted));
  }

  addAll(other: KeySpans): void {
    if (this.isEmpty) this.#runs = other.#runs;
    else for (const run of other.#runs) this.#push(run);
  }

  has(key: Key): boolean {
    return this.#runs.some((run) => isInRun(run, key));
  }

  #push(run: Bounds[]): void {
    let last = run;
    for (;;) {
      const before = this.#runs.at(-1);
      if (!before || before.length > 2 * last.length) break;
      this.#runs.pop();
      last = joined(merged(before, last));
    }
    this.#runs.push(last);
  }
}

function isInRun(run: readonly Bounds[], key: Key): boolean {
  let low = 0;
  let high = run.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (run[middle]!.start <= key) low = middle + 1;
    else high = middle;
  }
  const span = run[low - 1];
  return span !== undefined && (span.end === undefined || key < span.end);
}

function merged(a: readonly Bounds[], b: readonly Bounds[]): Bounds[] {
  const all: Bounds[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const fromA = j === b.length || (i < a.length && a[i]!.start <= b[j]!.start);
    all.push(fromA ? a[i++]! : b[j++]!);
  }
  return all;
}

/** Spans in order of their start, those that meet made one. */
function joined(spans: readonly Bounds[]): Bounds[] {
  const apart: Bounds[] = [];
  for (const span of spans) {
    const last = apart.at(-1);
    if (!last || (last.end !== undefined && last.end < span.start)) apart.push(span);
    else if (last.end !== undefined && (span.end === undefined || span.end > last.end))
      apart[apart.length - 1] = { start: last.start, end: span.end };
  }
  return apart;
}
