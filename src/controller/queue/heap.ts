/**
 * A binary heap that knows where its items lie, so that any of them can be moved or taken out in O(log n).
 *
 * An item carries its own place, -1 while it is in no heap, and is in one heap at most. Items that compare equal come
 * out in no particular order.
 */
export interface Placed {
  place: number;
}

export class Heap<T extends Placed> {
  readonly #items: T[] = [];
  readonly #comesBefore: (a: T, b: T) => boolean;

  constructor(comesBefore: (a: T, b: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    item.place = this.#items.length;
    this.#items.push(item);
    this.#rise(item);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first) this.remove(first);
    return first;
  }

  remove(item: T): void {
    const last = this.#items.pop()!;
    if (last !== item) {
      last.place = item.place;
      this.#items[last.place] = last;
      this.moved(last);
    }
    item.place = -1;
  }

  /** To be called whenever what the order depends on has changed in an item. */
  moved(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  clear(): void {
    for (const item of this.#items) item.place = -1;
    this.#items.length = 0;
  }

  #rise(item: T): void {
    let place = item.place;
    while (place > 0) {
      const parent = this.#items[(place - 1) >> 1]!;
      if (!this.#comesBefore(item, parent)) break;
      const above = parent.place;
      this.#put(parent, place);
      place = above;
    }
    this.#put(item, place);
  }

  #sink(item: T): void {
    let place = item.place;
    for (;;) {
      const left = this.#items[2 * place + 1];
      if (!left) break;
      const right = this.#items[2 * place + 2];
      const child = right && this.#comesBefore(right, left) ? right : left;
      if (!this.#comesBefore(child, item)) break;
      const below = child.place;
      this.#put(child, place);
      place = below;
    }
    this.#put(item, place);
  }

  #put(item: T, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }
}
