/**
 * Where the objects of one kind lie in the store: all under one prefix, by namespace and name.
 *
 *     /registry/pods/NAMESPACE/NAME        /registry/nodes/NAME
 *
 * Always true: the order of keys is the order of lists, by namespace and then by name.
 */
import { type Key, type KeyRange, keyFromText, keyToText } from '../../../store/index.ts';

export class ObjectKeys {
  /** Of all keys of this kind, with a slash at the end. */
  readonly prefix: Key;
  readonly #isNamespaced: boolean;

  constructor(prefix: Key, isNamespaced: boolean) {
    this.prefix = prefix;
    this.#isNamespaced = isNamespaced;
  }

  of(namespace: string, name: string): Key {
    return this.prefix + keyFromText(objectKey(namespace, name));
  }

  /** What a key stands for. */
  nameOf(key: Key): { readonly namespace: string; readonly name: string } {
    const relative = key.slice(this.prefix.length);
    const text = /[^\0-\x7f]/.test(relative) ? keyToText(relative) : relative;
    const slash = this.#isNamespaced ? text.indexOf('/') : -1;
    return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
  }

  /** The keys of a scope (`''` or `NAMESPACE/`), from the object key `start` on. */
  range(scope: string, start: string): KeyRange {
    const from = this.prefix + keyFromText(start);
    const end = `${(this.prefix + keyFromText(scope)).slice(0, -1)}0`; // the character after the slash that ends the scope
    return { start: from, end };
  }
}

/** The place of an object in the order of lists. */
export function objectKey(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
