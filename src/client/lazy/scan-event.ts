/**
 * Finds the few facts that a cache needs of an object in the text of its event, without decoding the rest.
 *
 * What is always true: what is found is what JSON.parse would find. Whatever is not written as API servers write it
 * (spaces between tokens, escapes in these few strings, a number where a string belongs) is not judged here: the answer
 * is undefined, and the caller decodes the whole. What comes after the facts is not looked at: text that is broken there
 * is found out when it is decoded.
 *
 * Built-in kinds are written in the order of their Go structs, for which one expression does: it takes a tenth of the time
 * of the walk over the keys, which does for any order, such as that of custom kinds (alphabetical).
 */
import type { ChangeType } from '../objects/objects.ts';
import { endOfKey, endOfValue, isKey, ODD, plainString } from './json-text.ts';

export type EventScan = {
  readonly type: ChangeType;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Where `object.metadata` begins. */
  readonly metadataAt: number;
  /** The text of `object.metadata.labels`, if it was come across. */
  readonly labels: string | undefined;
};

/** Bookmarks and errors are left to the caller. */
export function scanEvent(text: string): EventScan | undefined {
  if (!text.endsWith('}}')) return undefined;
  const found = structOrder.exec(text);
  if (!found) return walkEvent(text);
  return {
    type: found[2] as ChangeType,
    name: found[3]!,
    namespace: found[4],
    uid: found[5]!,
    resourceVersion: found[6]!,
    metadataAt: found[1]!.length,
    labels: found[7],
  };
}

const CHANGE = '{"type":"(ADDED|MODIFIED|DELETED)","object":';
const TEXT = '"[^"\\\\]*"';
const FILLED = '"([^"\\\\]+)"';
const maybe = (key: string, value: string) => `(?:,"${key}":${value})?`;

/** A namespace must be there: were it missed where it may be missing, a wrong order would pass for an object without. */
const structOrder = new RegExp(
  [
    `^(\\${CHANGE}\\{(?:"kind":${TEXT},"apiVersion":${TEXT},|"apiVersion":${TEXT},"kind":${TEXT},)"metadata":)`,
    `\\{"name":${FILLED}${maybe('generateName', TEXT)},"namespace":${FILLED}${maybe('selfLink', TEXT)}`,
    `,"uid":${FILLED},"resourceVersion":${FILLED}`,
    `${maybe('generation', '\\d+')}${maybe('creationTimestamp', TEXT)}${maybe('deletionTimestamp', TEXT)}`,
    `${maybe('deletionGracePeriodSeconds', '\\d+')}${maybe('labels', `(\\{(?:${TEXT}:${TEXT},?)*\\})`)}[,}]`,
  ].join(''),
);

const change = new RegExp(`^\\${CHANGE}`);
const COMMA = 44;
const OPEN = 123;
const CLOSE = 125;

function walkEvent(text: string): EventScan | undefined {
  const found = change.exec(text);
  if (!found) return undefined;
  const metadataAt = metadataIn(text, found[0].length);
  return metadataAt === ODD ? undefined : walkMetadata(text, metadataAt, found[1] as ChangeType);
}

/** Of the object that begins at `at`. */
function metadataIn(text: string, at: number): number {
  if (text.charCodeAt(at) !== OPEN) return ODD;
  let next = at + 1;
  for (;;) {
    const keyEnd = endOfKey(text, next);
    if (keyEnd === ODD) return ODD;
    if (isKey(text, next, keyEnd, 'metadata')) return keyEnd + 2;
    next = endOfValue(text, keyEnd + 2);
    if (next === ODD || text.charCodeAt(next++) !== COMMA) return ODD; // an object without metadata is odd, too
  }
}

function walkMetadata(text: string, metadataAt: number, type: ChangeType): EventScan | undefined {
  if (text.charCodeAt(metadataAt) !== OPEN) return undefined;
  const found: Partial<Record<(typeof facts)[number], string>> = {};
  let labels: string | undefined;
  let next = metadataAt + 1;
  for (;;) {
    const keyEnd = endOfKey(text, next);
    if (keyEnd === ODD) return undefined;
    const valueEnd = endOfValue(text, keyEnd + 2);
    if (valueEnd === ODD) return undefined;
    for (const fact of facts)
      if (isKey(text, next, keyEnd, fact)) {
        const value = plainString(text, keyEnd + 2, valueEnd);
        if (!value) return undefined;
        found[fact] = value;
      }
    if (isKey(text, next, keyEnd, 'labels')) labels = text.slice(keyEnd + 2, valueEnd);
    next = valueEnd + 1;
    if (text.charCodeAt(valueEnd) === COMMA) continue;
    const { name, namespace, uid, resourceVersion } = found;
    if (text.charCodeAt(valueEnd) !== CLOSE || !name || !uid || !resourceVersion) return undefined;
    return { type, name, namespace, uid, resourceVersion, metadataAt, labels };
  }
}

const facts = ['name', 'namespace', 'uid', 'resourceVersion'] as const;
