/**
 * Events as lines: for people, as JSON or YAML documents, as names, or as what changed.
 *
 * It remembers the version of every object it has printed, whole objects only for diffs, so that a state that is read
 * anew shows what is new and what is gone.
 */

import { diffObjects, showChange } from '../../../api/index.ts';
import type { DynamicObject } from '../../../client/index.ts';
import { placeOf, shortNameOf, yamlOf } from '../../cluster/object-text.ts';
import type { Io } from '../../terminal/io.ts';
import { harmless } from '../../terminal/paint.ts';

export type Form = 'json' | 'yaml' | 'name' | 'diff';
export type Seen = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: DynamicObject };

type Known = { readonly version: string; readonly object: DynamicObject };

const WIDTH = 'MODIFIED'.length;

export class EventPrinter {
  readonly #io: Io;
  readonly #form: Form | undefined;
  #known = new Map<string, Known>();
  /** Those of a state that is just being read again. */
  #again: Map<string, Known> | undefined;
  /** Whether all objects were seen, and not only those that changed. */
  isWhole = false;

  constructor(io: Io, form: Form | undefined) {
    this.#io = io;
    this.#form = form;
  }

  print(event: Seen): void {
    const { type, object } = event;
    const before = this.#known.get(keyOf(object))?.object;
    if (this.#form === 'json') this.#io.print(JSON.stringify(event));
    else if (this.#form === 'yaml') this.#io.write(`---\n${yamlOf({ type, object })}`);
    else if (this.#form === 'name') this.#io.print(harmless(shortNameOf(object)));
    else {
      this.#line(type, object);
      if (this.#form === 'diff') this.#diff(type, before, object);
    }
    if (type === 'DELETED') this.#known.delete(keyOf(object));
    else this.remember(object);
  }

  bookmark(version: string): void {
    if (this.#form === 'json')
      this.#io.print(JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: version } } }));
    else if (this.#form !== 'name') this.#io.print(this.#io.paint.dim(`BOOKMARK at ${version}`));
  }

  /** A state is read, for the first time or anew. */
  beginState(): void {
    this.#again = new Map();
  }

  /** What an object of such a state is; undefined if it was printed just as it is. */
  news(object: DynamicObject): 'ADDED' | 'MODIFIED' | undefined {
    const known = this.#known.get(keyOf(object));
    if (known?.version === object.metadata.resourceVersion) return undefined;
    return known ? 'MODIFIED' : 'ADDED';
  }

  remember(object: DynamicObject): void {
    const { name, namespace, resourceVersion: version = '' } = object.metadata;
    // Names are enough to say what is gone; whole objects only where they are compared.
    const { kind, apiVersion } = object;
    const kept =
      this.#form === 'diff'
        ? object
        : ({ kind, apiVersion, metadata: { name, namespace, resourceVersion: version } } as DynamicObject);
    this.#known.set(keyOf(object), { version, object: kept });
    this.#again?.set(keyOf(object), { version, object: kept });
  }

  /** The state has been read: what is no longer there. */
  endState(): DynamicObject[] {
    const again = this.#again;
    this.#again = undefined;
    this.isWhole = true;
    if (!again) return [];
    return [...this.#known].filter(([key]) => !again.has(key)).map(([, { object }]) => object);
  }

  #line(type: Seen['type'], object: DynamicObject): void {
    const { paint } = this.#io;
    const colour = { ADDED: paint.green, MODIFIED: paint.yellow, DELETED: paint.red }[type];
    const version = paint.dim(`@${object.metadata.resourceVersion ?? '?'}`);
    this.#io.print(`${colour(type.padEnd(WIDTH))} ${harmless(placeOf(object))} ${version}`);
  }

  #diff(type: Seen['type'], before: DynamicObject | undefined, after: DynamicObject): void {
    if (type !== 'MODIFIED') return;
    if (!before) {
      this.#io.print('    (its former state was not seen)');
      return;
    }
    const { paint } = this.#io;
    const colours = { '+': paint.green, '-': paint.red, '~': paint.yellow };
    for (const change of diffObjects(before, after)) {
      const line = harmless(showChange(change));
      this.#io.print(`    ${colours[line[0] as '+' | '-' | '~'](line)}`);
    }
  }
}

function keyOf({ metadata: { namespace = '', name } }: DynamicObject): string {
  return `${namespace}/${name}`;
}
