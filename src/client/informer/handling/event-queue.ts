/**
 * The events that wait for one handler, in order. The writer never waits.
 *
 * Up to `limit` events wait one by one. Beyond that, an event of a key that waits already is joined with it: the
 * handler misses states in between, but never the last one, and `old` is still the state it got before. So no more than
 * `limit` events wait, and three for each key. What is added and deleted while it waits is never delivered, except
 * what was there at the beginning: an earlier process may have delivered it, and then somebody waits to hear that it is
 * gone. A joined event keeps its earlier place: between keys the order may change, within a key it does not.
 *
 * What comes as a batch of more than `limit` while nothing waits is taken from as it lies: to queue a large state takes
 * no time. Nothing is joined with it.
 */
import type { AnyObject } from '../../objects/objects.ts';
import type { InformerEvent } from '../informer-event.ts';

/** Many events at once, of as many keys, deletions first. */
export type EventBatch<T extends AnyObject> = {
  readonly count: number;
  /** Begins anew each time. */
  readonly events: Iterable<InformerEvent<T>>;
  /** Whether a key may be among them. */
  readonly has: (key: string) => boolean;
};

/** A batch that is being taken from: before everything else. */
type Taking<T extends AnyObject> = {
  readonly events: Iterator<InformerEvent<T>>;
  readonly has: (key: string) => boolean;
  next: number;
  readonly end: number;
};

/** The place of an event; empty when that was taken, or came to nothing. */
type Slot<T extends AnyObject> = { readonly number: number; event: InformerEvent<T> | undefined };

/** From so many on, if that is most of them, empty slots are given back: a handler may stand still while objects come and go. */
const MANY_EMPTY = 1024;

export class EventQueue<T extends AnyObject> {
  readonly #limit: number;
  #batch: Taking<T> | undefined;
  /** In the order of their numbers. */
  #slots: Slot<T>[] = [];
  /** In `#slots`: nothing waits before it. */
  #head = 0;
  #waiting = 0;
  #next = 0;
  /** The slots of a key's events, in order. Found out when somebody asks: a handler that keeps up never does. */
  #byKey: Map<string, Slot<T>[]> | undefined;
  #conflated = 0;
  /** The number of the event that was taken last, until it is handled. */
  #inHand: number | undefined;
  #isDeletionInHand = false;
  /** Of the first deletion that was not handled when it ended. */
  #untold = Number.POSITIVE_INFINITY;
  #wake: () => void = () => {};
  #isEnded = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#waiting + (this.#batch ? this.#batch.end - this.#batch.next : 0);
  }

  /** How many events were joined with others. */
  get conflated(): number {
    return this.#conflated;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Stands for everything that was pushed so far. */
  get mark(): number {
    return this.#next;
  }

  /** Everything before the mark was taken, or has come to nothing. */
  isPast(mark: number): boolean {
    return this.#firstNumber() >= mark;
  }

  /**
   * And the one that was taken last is done with. When it has ended, only deletions count that it was not done with: of
   * what is there, the next process tells anyway.
   */
  hasHandled(mark: number): boolean {
    if (this.#isEnded) return this.#untold >= mark;
    return this.isPast(mark) && (this.#inHand === undefined || this.#inHand >= mark);
  }

  has(key: string): boolean {
    return this.#slotsByKey().has(key) || (this.#batch?.has(key) ?? false);
  }

  push(event: InformerEvent<T>): void {
    if (this.#isEnded) return;
    if (this.#waiting < this.#limit || !this.#join(event)) this.#append(event);
    this.#wake();
  }

  pushAll({ count, events, has }: EventBatch<T>): void {
    if (this.#isEnded) return;
    if (count > this.#limit && this.size === 0) {
      const next = this.#next;
      this.#next += count;
      this.#batch = { events: events[Symbol.iterator](), has, next, end: this.#next };
      this.#wake();
    } else for (const event of events) this.push(event);
  }

  shift(): InformerEvent<T> | undefined {
    return this.#batch ? this.#shiftBatch(this.#batch) : this.#shiftOne();
  }

  #shiftBatch(batch: Taking<T>): InformerEvent<T> {
    const event = batch.events.next().value as InformerEvent<T>;
    this.#inHand = batch.next++;
    this.#isDeletionInHand = event.type === 'deleted';
    if (batch.next === batch.end) this.#batch = undefined;
    return event;
  }

  #shiftOne(): InformerEvent<T> | undefined {
    if (this.#waiting === 0) return undefined;
    const slot = this.#firstSlot();
    const event = slot.event!;
    const ofKey = this.#byKey?.get(event.key);
    ofKey?.shift();
    if (ofKey?.length === 0) this.#byKey!.delete(event.key);
    this.#inHand = slot.number;
    this.#isDeletionInHand = event.type === 'deleted';
    this.#empty(slot);
    return event;
  }

  /** What was taken last is handled. */
  done(): void {
    this.#inHand = undefined;
  }

  /** Resolves when there is something to take, or when it has ended. For one reader. */
  async filled(): Promise<void> {
    if (this.size > 0 || this.#isEnded) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** What waits is forgotten. What is in hand counts as not handled: the same end may cut it short. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#inHand !== undefined && this.#isDeletionInHand) this.#untold = this.#inHand;
    const batch = this.#batch;
    if (batch && batch.events.next().value?.type === 'deleted') this.#untold = Math.min(this.#untold, batch.next);
    for (const { number, event } of this.#slots)
      if (event?.type === 'deleted') this.#untold = Math.min(this.#untold, number);
    this.#batch = undefined;
    this.#reset();
    this.#wake();
  }

  #firstNumber(): number {
    if (this.#batch) return this.#batch.next;
    return this.#waiting === 0 ? this.#next : this.#firstSlot().number;
  }

  /** Of those that wait; there is one. */
  #firstSlot(): Slot<T> {
    while (this.#slots[this.#head]!.event === undefined) this.#head++;
    return this.#slots[this.#head]!;
  }

  #append(event: InformerEvent<T>): void {
    const slot = { number: this.#next++, event };
    this.#slots.push(slot);
    this.#waiting++;
    if (this.#byKey) note(this.#byKey, event.key, slot);
  }

  #empty(slot: Slot<T>): void {
    slot.event = undefined;
    this.#waiting--;
    const empty = this.#slots.length - this.#waiting;
    if (this.#waiting === 0) this.#reset();
    else if (empty > MANY_EMPTY && empty > this.#waiting) {
      this.#slots = this.#slots.filter(({ event }) => event !== undefined);
      this.#head = 0;
    }
  }

  /** Nothing waits. */
  #reset(): void {
    this.#slots = [];
    this.#head = 0;
    this.#waiting = 0;
    this.#byKey = undefined;
  }

  #slotsByKey(): Map<string, Slot<T>[]> {
    if (this.#byKey) return this.#byKey;
    this.#byKey = new Map();
    for (const slot of this.#slots) if (slot.event) note(this.#byKey, slot.event.key, slot);
    return this.#byKey;
  }

  /** False if nothing of that key waits that it could be joined with. */
  #join(event: InformerEvent<T>): boolean {
    const all = this.#slotsByKey();
    const ofKey = all.get(event.key);
    const slot = ofKey?.[ofKey.length - 1];
    if (!slot?.event) return false;
    const joined = join(slot.event, event);
    if (joined === 'both') return false;
    this.#conflated++;
    if (joined !== 'neither') {
      slot.event = joined; // in its old place
      return true;
    }
    ofKey!.pop();
    if (ofKey!.length === 0) all.delete(event.key);
    this.#empty(slot);
    return true;
  }
}

function note<T extends AnyObject>(byKey: Map<string, Slot<T>[]>, key: string, slot: Slot<T>): void {
  const known = byKey.get(key);
  if (known) known.push(slot);
  else byKey.set(key, [slot]);
}

/** Two events of one key, one after the other, as one. */
function join<T extends AnyObject>(
  first: InformerEvent<T>,
  second: InformerEvent<T>,
): InformerEvent<T> | 'both' | 'neither' {
  if (first.type === 'deleted') return 'both';
  switch (second.type) {
    case 'added': // not after an addition or an update
      return 'both';
    case 'deleted':
      if (first.type === 'updated') return second;
      return first.isInitial ? 'both' : 'neither';
    case 'updated':
      if (first.type === 'added') return { ...first, object: second.object };
      return { ...second, old: first.old, isResync: first.isResync && second.isResync };
  }
}
