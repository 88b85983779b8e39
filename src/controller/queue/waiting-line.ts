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
 */
import { Chain, type Link } from './chain.ts';
import { Heap, type Placed } from './heap.ts';

export type AgeingOptions = {
  /** How long one waits before its age counts. */
  readonly agedAfterMs: number;
  /** One take in so many is served by age; 1 is by age alone. */
  readonly agedTurn: number;
};

export interface InLine {
  readonly namespace: string;
  readonly addedAt: number;
  priority: number;
}

/** A place in the line; only the line looks inside. */
export type Ticket<T> = {
  readonly item: T;
  arrival: Link<Ticket<T>>;
  band: Band<T>;
  lane: Lane<T>;
  place: Link<Ticket<T>>;
};

type Lane<T> = { readonly namespace: string; readonly tickets: Chain<Ticket<T>>; turn: Link<Lane<T>> };

type Band<T> = Placed & {
  readonly priority: number;
  readonly ring: Chain<Lane<T>>;
  readonly lanes: Map<string, Lane<T>>;
};

export class WaitingLine<T extends InLine> {
  readonly #ageing: AgeingOptions;
  readonly #bands = new Map<number, Band<T>>();
  readonly #order = new Heap<Band<T>>((a, b) => a.priority > b.priority);
  #arrivals = new Chain<Ticket<T>>();
  #turn = 0;

  constructor(ageing: AgeingOptions) {
    this.#ageing = ageing;
  }

  get size(): number {
    return this.#arrivals.size;
  }

  /** The one that has waited longest. */
  get oldest(): T | undefined {
    return this.#arrivals.first?.item;
  }

  push(item: T): Ticket<T> {
    const ticket = { item } as Ticket<T>;
    ticket.arrival = this.#arrivals.append(ticket);
    this.#join(ticket);
    return ticket;
  }

  /** Moves one that waits to the back of a higher band; its age stays. */
  raise(ticket: Ticket<T>, priority: number): void {
    if (priority <= ticket.item.priority) return;
    this.#leave(ticket);
    ticket.item.priority = priority;
    this.#join(ticket);
  }

  take(now: number): T | undefined {
    const ticket = this.#byAge(now) ?? this.#order.peek()?.ring.first?.tickets.first;
    if (!ticket) return undefined;
    this.#arrivals.remove(ticket.arrival);
    const { band, lane } = ticket;
    const wasItsTurn = band.ring.first === lane;
    this.#leave(ticket);
    if (wasItsTurn && lane.tickets.size > 0) {
      band.ring.remove(lane.turn);
      lane.turn = band.ring.append(lane);
    }
    return ticket.item;
  }

  clear(): void {
    this.#bands.clear();
    this.#order.clear();
    this.#arrivals = new Chain();
  }

  /** Within one band the ring starves no namespace, and fairness between namespaces comes before age. */
  #byAge(now: number): Ticket<T> | undefined {
    if (this.#bands.size < 2) return undefined;
    this.#turn = (this.#turn + 1) % this.#ageing.agedTurn;
    if (this.#turn !== 0) return undefined;
    const oldest = this.#arrivals.first!;
    return now - oldest.item.addedAt >= this.#ageing.agedAfterMs ? oldest : undefined;
  }

  #join(ticket: Ticket<T>): void {
    const { priority, namespace } = ticket.item;
    let band = this.#bands.get(priority);
    if (!band) {
      band = { priority, ring: new Chain(), lanes: new Map(), place: -1 };
      this.#bands.set(priority, band);
      this.#order.push(band);
    }
    let lane = band.lanes.get(namespace);
    if (!lane) {
      lane = { namespace, tickets: new Chain() } as unknown as Lane<T>;
      lane.turn = band.ring.append(lane);
      band.lanes.set(namespace, lane);
    }
    ticket.band = band;
    ticket.lane = lane;
    ticket.place = lane.tickets.append(ticket);
  }

  #leave({ band, lane, place }: Ticket<T>): void {
    lane.tickets.remove(place);
    if (lane.tickets.size > 0) return;
    band.ring.remove(lane.turn);
    band.lanes.delete(lane.namespace);
    if (band.lanes.size > 0) return;
    this.#order.remove(band);
    this.#bands.delete(band.priority);
  }
}
