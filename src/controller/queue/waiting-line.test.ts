import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InLine, WaitingLine } from './waiting-line.ts';

class Item extends InLine {
  readonly name: string;

  constructor(name: string, priority: number, namespace: string, addedAt: number) {
    super(namespace, priority, addedAt);
    this.name = name;
  }
}

const item = (name: string, priority = 0, namespace = '', addedAt = 0): Item =>
  new Item(name, priority, namespace, addedAt);

const drain = (line: WaitingLine<Item>, now = 0): string => {
  let names = '';
  while (line.size > 0) names += line.take(now)!.name;
  return names;
};

describe('WaitingLine', () => {
  it.each<[claim: string, items: Item[], want: string]>([
    ['is first come first served', [item('a'), item('b'), item('c')], 'abc'],
    ['serves the higher priority first', [item('a', -1), item('b'), item('c', 5), item('d', 5)], 'cdba'],
    [
      'takes turns between namespaces',
      [item('a', 0, 'x'), item('b', 0, 'x'), item('c', 0, 'x'), item('d', 0, 'y'), item('e', 0, 'z')],
      'adebc',
    ],
    [
      'takes turns within a priority only',
      [item('a', 1, 'x'), item('b', 1, 'x'), item('c', 0, 'y'), item('d', 1, 'z')],
      'adbc',
    ],
  ])('%s', (_claim, items, want) => {
    const line = new WaitingLine<Item>({ agedAfterMs: 1000, agedTurn: 4 });
    for (const one of items) line.push(one);
    expect(drain(line)).toBe(want);
  });

  it('gives every fourth turn to whoever has waited longest, once that is long', () => {
    const fill = () => {
      const line = new WaitingLine<Item>({ agedAfterMs: 1000, agedTurn: 4 });
      for (const name of 'xyz') line.push(item(name, -100));
      for (const name of 'abcdefgh') line.push(item(name));
      return line;
    };
    expect(drain(fill(), 999)).toBe('abcdefghxyz');
    expect(drain(fill(), 1000)).toBe('abcxdefyghz');
  });

  it('puts one that was raised at the back of its new band', () => {
    const line = new WaitingLine<Item>({ agedAfterMs: 1000, agedTurn: 4 });
    const low = item('a');
    line.push(low);
    line.push(item('b', 5));
    line.raise(low, 5);
    line.raise(low, 1); // lower: no change
    expect(drain(line)).toBe('ba');
  });

  it('serves a low priority within its bound under a flood of high ones', () => {
    const line = new WaitingLine<Item>({ agedAfterMs: 100, agedTurn: 4 });
    for (let i = 0; i < 10; i++) line.push(item('low', -100, 'n', 0));
    let takes = 0;
    for (let served = 0; served < 10; takes++) {
      line.push(item('high', 100, `n${takes % 7}`, takes));
      line.push(item('high', 100, `n${takes % 5}`, takes));
      if (line.take(1000 + takes)!.name === 'low') served++;
    }
    expect(takes).toBeLessThanOrEqual(4 * 10);
  });

  it('agrees with a reference that sorts lists', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), priority: fc.integer({ min: -2, max: 2 }), ns: fc.nat(3) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('raise' as const), which: fc.nat(50), priority: fc.integer({ min: -2, max: 2 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const ageing = { agedAfterMs: 20, agedTurn: 3 };
        const line = new WaitingLine<Item>(ageing);
        const reference = new ReferenceLine(ageing);
        const tickets = new Map<string, Item>();
        steps.forEach((one, now) => {
          if (one.kind === 'push') {
            const make = () => item(`${now}`, one.priority, `${one.ns}`, now);
            const pushed = make();
            tickets.set(`${now}`, pushed);
            line.push(pushed);
            reference.items.push(make());
          } else if (one.kind === 'take') {
            const taken = line.take(now);
            expect(taken?.name).toBe(reference.take(now)?.name);
            if (taken) tickets.delete(taken.name);
          } else {
            const waiting = [...tickets.entries()];
            const [name, ticket] = waiting[one.which % waiting.length] ?? [];
            if (!ticket) return;
            line.raise(ticket, one.priority);
            reference.raise(name!, one.priority);
          }
          expect(line.size).toBe(reference.items.length);
        });
      }),
    );
  });
});

/** The same rules by brute force: lists that are searched from front to back. */
class ReferenceLine {
  /** By arrival. */
  items: Item[] = [];
  #rings = new Map<number, string[]>();
  #turn = 0;
  /** When each came to its band. */
  readonly #joined = new Map<string, number>();
  #joins = 0;
  readonly #ageing: { agedAfterMs: number; agedTurn: number };

  constructor(ageing: { agedAfterMs: number; agedTurn: number }) {
    this.#ageing = ageing;
  }

  raise(name: string, priority: number): void {
    const found = this.items.find((one) => one.name === name)!;
    if (priority <= found.priority) return;
    this.#updateRings();
    found.priority = priority;
    this.#joined.set(name, ++this.#joins);
    this.#updateRings();
  }

  take(now: number): Item | undefined {
    this.#updateRings();
    if (this.items.length === 0) return undefined;
    const top = Math.max(...this.items.map((one) => one.priority));
    let taken: Item | undefined;
    if (new Set(this.items.map((one) => one.priority)).size > 1) {
      this.#turn = (this.#turn + 1) % this.#ageing.agedTurn;
      const oldest = this.items[0]!;
      if (this.#turn === 0 && now - oldest.addedAt >= this.#ageing.agedAfterMs) taken = oldest;
    }
    taken ??= this.#lane(top, this.#rings.get(top)![0]!)[0]!;
    const ring = this.#rings.get(taken.priority)!;
    this.items = this.items.filter((one) => one !== taken);
    if (ring[0] === taken.namespace) ring.push(ring.shift()!);
    this.#updateRings();
    return taken;
  }

  #lane(priority: number, namespace: string): Item[] {
    const mine = this.items.filter((one) => one.priority === priority && one.namespace === namespace);
    return mine.sort((a, b) => this.#joined.get(a.name)! - this.#joined.get(b.name)!);
  }

  #updateRings(): void {
    for (const one of this.items) if (!this.#joined.has(one.name)) this.#joined.set(one.name, ++this.#joins);
    const byJoin = [...this.items].sort((a, b) => this.#joined.get(a.name)! - this.#joined.get(b.name)!);
    for (const one of byJoin) {
      const ring = this.#rings.get(one.priority) ?? [];
      this.#rings.set(one.priority, ring);
      if (!ring.includes(one.namespace)) ring.push(one.namespace);
    }
    for (const [priority, ring] of this.#rings) {
      const left = ring.filter((namespace) => this.#lane(priority, namespace).length > 0);
      this.#rings.set(priority, left);
    }
  }
}
