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
import type { AnyObject } from '../objects/objects.ts';
import type { InformerEvent } from './informer-event.ts';

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

/** From so many on the room of what was taken is given back. */
const MANY_TAKEN = 1024;

export class EventQueue<T extends AnyObject> {
  readonly #limit: number;
  #batch: Taking<T> | undefined;
  /** By number less `#base`, with holes where events were taken or came to nothing. */
  #slots: (InformerEvent<T> | undefined)[] = [];
  #base = 0;
  /** In `#slots`: nothing waits before it. */
  #head = 0;
  #waiting = 0;
  #next = 0;
  /** The numbers of a key's events, in order. Found out when somebody asks: a handler that keeps up never does. */
  #numbers: Map<string, number[]> | undefined;
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
    return this.#numbersOf().has(key) || (this.#batch?.has(key) ?? false);
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
    const number = this.#firstNumber();
    const event = this.#slots[this.#head];
    if (!event) return undefined;
    this.#slots[this.#head++] = undefined;
    this.#waiting--;
    const numbers = this.#numbers?.get(event.key);
    numbers?.shift();
    if (numbers?.length === 0) this.#numbers!.delete(event.key);
    if (this.#waiting === 0) this.#reset();
    else if (this.#head > MANY_TAKEN && this.#head > this.#slots.length / 2) this.#cut();
    this.#inHand = number;
    this.#isDeletionInHand = event.type === 'deleted';
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
    for (let place = this.#head; place < this.#slots.length; place++)
      if (this.#slots[place]?.type === 'deleted') this.#untold = Math.min(this.#untold, this.#base + place);
    this.#batch = undefined;
    this.#reset();
    this.#wake();
  }

  #firstNumber(): number {
    if (this.#batch) return this.#batch.next;
    if (this.#waiting === 0) return this.#next;
    while (this.#slots[this.#head] === undefined) this.#head++;
    return this.#base + this.#head;
  }

  #append(event: InformerEvent<T>): void {
    if (this.#waiting === 0) this.#reset();
    const number = this.#next++;
    this.#slots.push(event);
    this.#waiting++;
    if (this.#numbers) note(this.#numbers, event.key, number);
  }

  /** Nothing waits. */
  #reset(): void {
    this.#slots = [];
    this.#base = this.#next;
    this.#head = 0;
    this.#waiting = 0;
    this.#numbers = undefined;
  }

  /** What was taken makes room. */
  #cut(): void {
    this.#slots.splice(0, this.#head);
    this.#base += this.#head;
    this.#head = 0;
  }

  #numbersOf(): Map<string, number[]> {
    if (this.#numbers) return this.#numbers;
    this.#numbers = new Map();
    for (let place = this.#head; place < this.#slots.length; place++) {
      const event = this.#slots[place];
      if (event) note(this.#numbers, event.key, this.#base + place);
    }
    return this.#numbers;
  }

  /** False if nothing of that key waits that it could be joined with. */
  #join(event: InformerEvent<T>): boolean {
    const all = this.#numbersOf();
    const numbers = all.get(event.key);
    const number = numbers?.[numbers.length - 1];
    if (numbers === undefined || number === undefined) return false;
    const joined = join(this.#slots[number - this.#base]!, event);
    if (joined === 'both') return false;
    this.#conflated++;
    if (joined !== 'neither') {
      this.#slots[number - this.#base] = joined; // in its old place
      return true;
    }
    this.#slots[number - this.#base] = undefined;
    this.#waiting--;
    numbers.pop();
    if (numbers.length === 0) all.delete(event.key);
    return true;
  }
}

function note(numbers: Map<string, number[]>, key: string, number: number): void {
  const known = numbers.get(key);
  if (known) known.push(number);
  else numbers.set(key, [number]);
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
