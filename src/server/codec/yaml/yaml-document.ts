/**
 * The values of one YAML document, put together from the events of js-yaml's parser in one walk.
 *
 * Bounded: what an alias stands for is copied, and all copies together may hold `maxAliasedBytes`, so a document never
 * unfolds to much more than its text. Mapping keys are data, `__proto__` too. A key that occurs again wins and is noted
 * with the place of its value; one that was only merged in (`<<`) gives way without a word.
 *
 * It fails with a YamlSyntaxError.
 */
import { type AliasEvent, type Event, getScalarValue, type MappingEvent, type ScalarEvent } from 'js-yaml';
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { cutText } from '../../../api/json-text.ts';
import { maxFaults } from '../json/fault-paths.ts';
import { isObject, setKey } from '../json/json-objects.ts';
import { maxMembers, tooManyMembers } from '../json/json-reader.ts';
import { plainScalar, taggedScalar } from './yaml-scalars.ts';

export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

export type YamlDocument = {
  readonly value: JsonValue;
  /** At most 100, each with the place of its value. */
  readonly duplicates: readonly { readonly key: string; readonly position: number }[];
};

/** What js-yaml calls 1 to 6; written out, because a switch over its names is not checked for being complete. */
const DOCUMENT = 1;
const SEQUENCE = 2;
const MAPPING = 3;
const SCALAR = 4;
const ALIAS = 5;
const PLAIN = 1;
const NOWHERE = -1;
const maxAliasedBytes = 3 * 1024 * 1024;
const shownBytes = 256;
const standardPrefix = 'tag:yaml.org,2002:';

type Frame = {
  readonly container: JsonObject | JsonValue[];
  readonly anchor: Anchor | undefined;
  /** Where it begins. */
  readonly start: number;
  /** Of a mapping: the key that waits for its value. */
  key: string | undefined;
  isMerge: boolean;
  /** Keys that came by a merge, and so are no one's own yet. */
  merged: Set<string> | undefined;
  /** How many entries were put into it. */
  size: number;
};
type Anchor = { value: JsonValue; isOpen: boolean };

export function buildYaml(events: readonly Event[], source: string): YamlDocument {
  const builder = new Builder(source);
  for (const event of events) builder.take(event);
  return { value: builder.value, duplicates: builder.duplicates };
}

class Builder {
  value: JsonValue = null;
  readonly duplicates: { key: string; position: number }[] = [];
  readonly #source: string;
  readonly #frames: Frame[] = [];
  readonly #anchors = new Map<string, Anchor>();
  #aliasedBytes = 0;
  /** Where the value at hand begins. */
  #position = 0;

  constructor(source: string) {
    this.#source = source;
  }

  take(event: Event): void {
    switch (event.type) {
      case DOCUMENT:
        return;
      case SEQUENCE:
      case MAPPING:
        this.#open(event as MappingEvent, event.type === MAPPING ? {} : []);
        return;
      case SCALAR:
        this.#scalar(event as ScalarEvent);
        return;
      case ALIAS:
        this.#alias(event as AliasEvent);
        return;
      default:
        this.#close();
    }
  }

  #open(event: MappingEvent, container: JsonObject | JsonValue[]): void {
    this.#position = event.start;
    const anchor = this.#anchor(event, container, true);
    const start = event.start;
    this.#frames.push({ container, anchor, start, key: undefined, isMerge: false, merged: undefined, size: 0 });
  }

  #close(): void {
    const frame = this.#frames.pop();
    if (!frame) return; // the document
    if (frame.anchor) frame.anchor.isOpen = false;
    this.#position = frame.start;
    this.#add(frame.container, false);
  }

  #scalar(event: ScalarEvent): void {
    if (event.valueStart !== NOWHERE) this.#position = event.valueStart;
    const text = getScalarValue(this.#source, event);
    const isPlain = event.style === PLAIN;
    let value: JsonValue | undefined;
    if (event.tagStart === NOWHERE) value = isPlain ? plainScalar(text) : text;
    else value = taggedScalar(this.#tagOf(event), text);
    if (value === undefined)
      throw this.#fail(`cannot decode \`${cutText(text, shownBytes)}\` as a !!${this.#tagOf(event)}`);
    if (typeof value === 'number' && !Number.isFinite(value)) throw this.#fail('a number that JSON cannot hold');
    this.#anchor(event, value, false);
    this.#add(value, isPlain && event.tagStart === NOWHERE && text === '<<');
  }

  #tagOf({ tagStart, tagEnd }: ScalarEvent): string {
    const written = this.#source.slice(tagStart, tagEnd);
    if (written.startsWith('!!')) return written.slice(2);
    return written.startsWith(`!<${standardPrefix}`) ? written.slice(2 + standardPrefix.length, -1) : '';
  }

  #alias(event: AliasEvent): void {
    this.#position = event.anchorStart;
    const name = this.#source.slice(event.anchorStart, event.anchorEnd);
    const anchor = this.#anchors.get(name);
    if (!anchor) throw this.#fail(`unknown anchor '${cutText(name, shownBytes)}' referenced`);
    if (anchor.isOpen) throw this.#fail(`anchor '${cutText(name, shownBytes)}' value contains itself`);
    this.#add(this.#copy(anchor.value), false);
  }

  #anchor(event: MappingEvent | ScalarEvent, value: JsonValue, isOpen: boolean): Anchor | undefined {
    if (event.anchorStart === NOWHERE) return undefined;
    const anchor = { value, isOpen };
    this.#anchors.set(this.#source.slice(event.anchorStart, event.anchorEnd), anchor);
    return anchor;
  }

  /** A copy of its own for every place that names it: whoever changes one does not change the others. */
  #copy(value: JsonValue): JsonValue {
    this.#charge(typeof value === 'string' ? value.length : 0);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#copy(item));
    const copy: JsonObject = {};
    for (const key of Object.keys(value)) {
      this.#charge(key.length);
      setKey(copy, key, this.#copy(value[key]!));
    }
    return copy;
  }

  #charge(bytes: number): void {
    this.#aliasedBytes += bytes + 4; // each value takes a few, whatever it is
    if (this.#aliasedBytes > maxAliasedBytes) throw new YamlSyntaxError('yaml: document contains excessive aliasing');
  }

  #add(value: JsonValue, isMergeKey: boolean): void {
    const frame = this.#frames.at(-1);
    if (!frame) {
      this.value = value;
      return;
    }
    const { container } = frame;
    if (Array.isArray(container)) container.push(value);
    else if (frame.key === undefined) {
      frame.key = isMergeKey ? '<<' : this.#keyText(value);
      frame.isMerge = isMergeKey;
    } else {
      const { key } = frame;
      frame.key = undefined;
      if (frame.isMerge) this.#merge(frame, container, value);
      else this.#set(frame, container, key, value);
    }
  }

  #set(frame: Frame, map: JsonObject, key: string, value: JsonValue): void {
    this.#count(frame);
    const isAgain = Object.hasOwn(map, key) && !frame.merged?.delete(key);
    if (isAgain && this.duplicates.length < maxFaults) this.duplicates.push({ key, position: this.#position });
    setKey(map, key, value);
  }

  #count(frame: Frame): void {
    if (++frame.size > maxMembers) throw this.#fail(tooManyMembers);
  }

  /** What is there already stays; of several sources the first has the say. */
  #merge(frame: Frame, map: JsonObject, source: JsonValue): void {
    const sources = Array.isArray(source) ? source : [source];
    for (const one of sources) {
      if (!isObject(one)) throw this.#fail('map merge requires map or sequence of maps as the value');
      for (const key of Object.keys(one)) {
        if (Object.hasOwn(map, key)) continue;
        this.#count(frame);
        setKey(map, key, one[key]!);
        frame.merged ??= new Set();
        frame.merged.add(key);
      }
    }
  }

  #keyText(key: JsonValue): string {
    if (typeof key === 'object' && key !== null) throw this.#fail('invalid map key');
    return String(key);
  }

  #fail(why: string): YamlSyntaxError {
    const line = linesOf(this.#source, [this.#position]).get(this.#position);
    return new YamlSyntaxError(`yaml: line ${line}: ${why}`);
  }
}

/** The line of each position, counted from one, in one pass over the text. */
export function linesOf(source: string, positions: readonly number[]): ReadonlyMap<number, number> {
  const lines = new Map<number, number>();
  let line = 1;
  let next = source.indexOf('\n');
  for (const position of [...positions].sort((a, b) => a - b)) {
    for (; next >= 0 && next < position; next = source.indexOf('\n', next + 1)) line++;
    lines.set(position, line);
  }
  return lines;
}
