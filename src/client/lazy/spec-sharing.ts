/**
 * What has not changed of an object is not decoded again: most events change its status or its metadata, and bring the same
 * `spec` once more. Where its text is that of the version before, the new version gets the very `spec` of that.
 *
 * What is always true:
 * - What comes out is what JSON.parse makes of the line. What is cut out of the text that is parsed is JSON by itself, or was
 *   so before: then the line is JSON, too, and means the same. Where the cut belongs is told by the mark in its place.
 * - What versions share was frozen before anybody saw it, so no reader of one can change another.
 * - A line of which nothing is known, or that is written in another way, is not decoded here: the answer is undefined. Where
 *   most are of that kind, or bring another `spec` each time, only few are tried.
 */
import { deepFreeze } from '../../api/index.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import { endOfJson } from './check-json.ts';
import { type Mark, makeMark, parsedOrNothing, type TextEncoding } from './json-text.ts';
import { findManagedFields, isPutOff, MANAGED_FIELDS, parseEventLine, putOff, textPutOff } from './managed-fields.ts';

/** The version of an object that was delivered last. */
export type Known = (key: string) => AnyObject | undefined;

/** Of a `spec` that is frozen: what it was decoded from. */
const TEXT = Symbol('text');
type Spec = { readonly [TEXT]?: string };
type HasSpec = AnyObject & { spec: unknown };

const MARK: Mark = makeMark();
const SPEC = Buffer.from(',"spec":{');
const STATUS = Buffer.from('},"status":{');
const END = '}}';
/** Of the type that only a change of what is there has. */
const TYPE_AT = '{"type":"'.length;
const M = 77;

/** So many more misses than hits, and it rests for so many events. */
const PATIENCE = 64;
const REST_EVENTS = 4096;

/** What JSON.parse makes of the lines of events, with what has not changed since what is known. */
export function sharingSpecs(known: Known): (line: Buffer, encoding: TextEncoding) => unknown {
  const sharing = new SpecSharing(known);
  return (line, encoding) => sharing.parse(line, encoding) ?? parseEventLine(line, encoding);
}

class SpecSharing {
  readonly #known: Known;
  #luck = PATIENCE;
  #resting = 0;

  constructor(known: Known) {
    this.#known = known;
  }

  parse(line: Buffer, encoding: TextEncoding): unknown {
    if (line[TYPE_AT] !== M) return undefined;
    if (this.#resting > 0) {
      this.#resting--;
      return undefined;
    }
    return this.#parse(line, encoding);
  }

  #parse(line: Buffer, encoding: TextEncoding): unknown {
    const fieldsAt = findManagedFields(line);
    const fieldsEnd = fieldsAt < 0 ? 0 : line.indexOf('}]', fieldsAt, 'latin1') + 2;
    const at = line.indexOf(SPEC, fieldsEnd) + SPEC.length - 1;
    if (at < SPEC.length) return this.#miss();
    const statusAt = line.indexOf(STATUS, at);
    const end = statusAt < 0 ? line.length - END.length : statusAt + 1;
    const head =
      fieldsAt < 0
        ? line.toString(encoding, 0, at)
        : line.toString(encoding, 0, fieldsAt) + MANAGED_FIELDS.text + line.toString(encoding, fieldsEnd, at);
    const parsed = parsedOrNothing(head + MARK.text + line.toString(encoding, end)) as { object?: HasSpec } | undefined;
    const object = parsed?.object;
    if (object?.spec !== MARK.value || typeof object.metadata?.name !== 'string') return this.#miss();
    if (fieldsAt >= 0 && !isPutOff(object)) return this.#miss();
    const before = this.#known(keyOf(object)) as HasSpec | undefined;
    if (!before) return undefined;
    if (fieldsAt >= 0) {
      const known = textPutOff(before);
      const isKnown = known !== undefined && known === line.toString(encoding, fieldsAt, fieldsEnd);
      if (!isKnown && endOfJson(line, fieldsAt) !== fieldsEnd) return this.#miss();
      putOff(object, isKnown ? known : line.toString(encoding, fieldsAt, fieldsEnd));
    }
    const text = line.toString(encoding, at, end);
    const known = (before.spec as Spec | undefined)?.[TEXT];
    if (known === text) {
      object.spec = before.spec;
      if (this.#luck < PATIENCE) this.#luck++;
      return parsed;
    }
    const spec = parsedOrNothing(text);
    if (spec === undefined) return this.#miss();
    Object.defineProperty(spec, TEXT, { value: text });
    object.spec = deepFreeze(spec);
    if (known !== undefined) this.#miss();
    return parsed;
  }

  #miss(): undefined {
    if (--this.#luck > 0) return;
    this.#luck = PATIENCE;
    this.#resting = REST_EVENTS;
  }
}
