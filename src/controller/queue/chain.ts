/**
 * A doubly linked list: append and remove anywhere in constant time, by the link that `append` gave.
 *
 * Used where an array or a Map would not do: an array pays for a removal in the middle, and a Map whose front is deleted
 * and set again in turn walks over its deleted entries. A link belongs to one chain; removing it twice is a bug.
 */
export type Link<T> = { readonly value: T; before: Link<T> | undefined; after: Link<T> | undefined };

export class Chain<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get first(): T | undefined {
    return this.#first?.value;
  }

  get size(): number {
    return this.#size;
  }

  append(value: T): Link<T> {
    const link: Link<T> = { value, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = link;
    else this.#first = link;
    this.#last = link;
    this.#size++;
    return link;
  }

  remove(link: Link<T>): void {
    if (link.before) link.before.after = link.after;
    else this.#first = link.after;
    if (link.after) link.after.before = link.before;
    else this.#last = link.before;
    link.before = undefined;
    link.after = undefined;
    this.#size--;
  }

  moveToBack(link: Link<T>): void {
    if (link === this.#last) return;
    this.remove(link);
    link.before = this.#last;
    if (this.#last) this.#last.after = link;
    else this.#first = link;
    this.#last = link;
    this.#size++;
  }

  /** Takes the first out. */
  shift(): T | undefined {
    const link = this.#first;
    if (link) this.remove(link);
    return link?.value;
  }
}
