/**
 * Who comes next: by priority, in turn between namespaces, and never too late.
 *
 *     band 10   ring:  shop: a b c  ->  bank: x            a lane per namespace, first come first served
 *     band 0    ring:  shop: d
 *     arrivals         d a x b c                           everybody, by when they came
 *
 * A take is served from the highest band, by the lane at the front of its ring, which then goes to the back: a
 * namespace with ten thousand keys costs another with one key a single turn. While there are several bands, every
 * `agedTurn`th take goes to whoever came first of all, once that one has waited `agedAfterMs`. So whoever has m others
 * before it in `arrivals` waits for no more than agedTurn * (m + 1) takes, whatever is added above it, and what is
 * urgent keeps the other turns even behind a long backlog. Everything is O(1) or O(log bands).
 *
 * An item carries its own links, and is in one line at most: with objects for them, a long line would be mostly those.
 */
import { Chain, type Link } from './chain.ts';
import { Heap, type Placed } from './heap.ts';

export type AgeingOptions = {
  /** How long one waits before its age counts. */
  readonly agedAfterMs: number;
  /** One take in so many is served by age; 1 is by age alone. */
  readonly agedTurn: number;
};

/** What can wait in a line; what is undefined at first is the line's own business. */
export class InLine {
  namespace: string;
  priority: number;
  addedAt: number;
  lane: Lane | undefined = undefined;
  /** Neighbours among all that wait. */
  older: InLine | undefined = undefined;
  younger: InLine | undefined = undefined;
  /** Neighbours in the lane. */
  ahead: InLine | undefined = undefined;
  behind: InLine | undefined = undefined;

  constructor(namespace: string, priority: number, addedAt: number) {
    this.namespace = namespace;
    this.priority = priority;
    this.addedAt = addedAt;
  }
}

type Lane = {
  readonly namespace: string;
  readonly band: Band;
  first: InLine | undefined;
  last: InLine | undefined;
  turn: Link<Lane>;
};

type Band = Placed & { readonly priority: number; readonly ring: Chain<Lane>; readonly lanes: Map<string, Lane> };

export class WaitingLine<T extends InLine> {
  readonly #ageing: AgeingOptions;
  readonly #bands = new Map<number, Band>();
  readonly #order = new Heap<Band>((a, b) => a.priority > b.priority);
  #oldest: InLine | undefined;
  #youngest: InLine | undefined;
  #size = 0;
  #turn = 0;

  constructor(ageing: AgeingOptions) {
    this.#ageing = ageing;
  }

  get size(): number {
    return this.#size;
  }

  /** The one that has waited longest. */
  get oldest(): T | undefined {
    return this.#oldest as T | undefined;
  }

  push(item: T): void {
    item.older = this.#youngest;
    if (this.#youngest) this.#youngest.younger = item;
    else this.#oldest = item;
    this.#youngest = item;
    this.#size++;
    this.#join(item);
  }

  /** Moves one that waits to the back of a higher band; its age stays. */
  raise(item: T, priority: number): void {
    if (priority <= item.priority) return;
    this.#leave(item);
    item.priority = priority;
    this.#join(item);
  }

  take(now: number): T | undefined {
    const item = this.#byAge(now) ?? this.#order.peek()?.ring.first?.first;
    if (!item) return undefined;
    const lane = item.lane!;
    const { ring } = lane.band;
    const wasItsTurn = ring.first === lane;
    this.#leave(item);
    if (wasItsTurn && lane.first) ring.moveToBack(lane.turn);
    if (item.older) item.older.younger = item.younger;
    else this.#oldest = item.younger;
    if (item.younger) item.younger.older = item.older;
    else this.#youngest = item.older;
    item.older = undefined;
    item.younger = undefined;
    this.#size--;
    return item as T;
  }

  clear(): void {
    this.#bands.clear();
    this.#order.clear();
    this.#oldest = undefined;
    this.#youngest = undefined;
    this.#size = 0;
  }

  /** Within one band the ring starves no namespace, and fairness between namespaces comes before age. */
  #byAge(now: number): InLine | undefined {
    if (this.#bands.size < 2) return undefined;
    this.#turn = (this.#turn + 1) % this.#ageing.agedTurn;
    if (this.#turn !== 0) return undefined;
    const oldest = this.#oldest!;
    return now - oldest.addedAt >= this.#ageing.agedAfterMs ? oldest : undefined;
  }

  #join(item: InLine): void {
    const { priority, namespace } = item;
    let band = this.#bands.get(priority);
    if (!band) {
      band = { priority, ring: new Chain(), lanes: new Map(), place: -1 };
      this.#bands.set(priority, band);
      this.#order.push(band);
    }
    let lane = band.lanes.get(namespace);
    if (!lane) {
      lane = { namespace, band, first: undefined, last: undefined } as Lane;
      lane.turn = band.ring.append(lane);
      band.lanes.set(namespace, lane);
    }
    item.namespace = lane.namespace; // one string for all of them
    item.lane = lane;
    item.ahead = lane.last;
    if (lane.last) lane.last.behind = item;
    else lane.first = item;
    lane.last = item;
  }

  #leave(item: InLine): void {
    const lane = item.lane!;
    if (item.ahead) item.ahead.behind = item.behind;
    else lane.first = item.behind;
    if (item.behind) item.behind.ahead = item.ahead;
    else lane.last = item.ahead;
    item.lane = undefined;
    item.ahead = undefined;
    item.behind = undefined;
    if (lane.first) return;
    const { band } = lane;
    band.ring.remove(lane.turn);
    band.lanes.delete(lane.namespace);
    if (band.lanes.size > 0) return;
    this.#order.remove(band);
    this.#bands.delete(band.priority);
  }
}
