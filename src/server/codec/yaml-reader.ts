/**
 * YAML text to JSON values, as Kubernetes reads it: one document, YAML 1.1 booleans (`yes`, `on`) and octals, keys are
 * strings, times stay text, `<<` merges.
 *
 * Bounded: the text by the caller, aliases here by number and by what they unfold to, nesting by `maxDepth`. A key that
 * occurs again wins and is told with its line, as field validation wants it.
 *
 * It fails with a YamlSyntaxError whose message begins with `yaml: `.
 */
import {
  boolYaml11Tag,
  CORE_SCHEMA,
  defineMappingTag,
  floatYaml11Tag,
  intYaml11Tag,
  load,
  loadAll,
  mergeTag,
  nullYaml11Tag,
  YAMLException,
} from 'js-yaml';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, setKey } from './json-objects.ts';

export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

export type YamlReading = {
  readonly value: JsonValue;
  /** What a strict reader objects to, e.g. `line 7: key "k" already set in map`. */
  readonly duplicates: readonly string[];
};

const maxAliases = 1000;
const maxDepth = 200;
/** How many values aliases may add to those a text can hold without them. */
const maxAliased = 100_000;

/** What JSON has no word for: keys become text first. */
const jsonMapTag = defineMappingTag<JsonObject>('tag:yaml.org,2002:map', {
  create: () => ({}),
  addPair: (map, key, value) => {
    const text = keyText(key);
    if (text === undefined) return 'invalid map key';
    setKey(map, text, value as JsonValue);
    return '';
  },
  has: (map, key) => Object.hasOwn(map, keyText(key) ?? ''),
  keys: (map) => Object.keys(map),
  get: (map, key) => map[String(key)],
  identify: (data) => isObject(data as JsonValue),
});
const schema = CORE_SCHEMA.withTags(boolYaml11Tag, intYaml11Tag, floatYaml11Tag, nullYaml11Tag, mergeTag, jsonMapTag);

export function readYaml(text: string): YamlReading {
  const duplicates: string[] = [];
  let value: unknown;
  try {
    value = readOne(text, false);
  } catch (err) {
    if (!(err instanceof YAMLException) || err.reason !== 'duplicated mapping key') throw inGoWords(err);
    duplicates.push(duplicateText(text, err));
    try {
      value = readOne(text, true);
    } catch (again) {
      throw inGoWords(again);
    }
  }
  checkUnfolded(value as JsonValue, text.length + maxAliased);
  return { value: (value ?? null) as JsonValue, duplicates };
}

function readOne(text: string, allowsDuplicates: boolean): unknown {
  const options = { schema, json: allowsDuplicates, maxAliases, maxDepth };
  if (/^\s*(#.*)?$/.test(text)) return null;
  try {
    return load(text, options);
  } catch (err) {
    // More than one document: the first counts, as the reference reads it.
    if (!(err instanceof YAMLException) || !/single document|empty/.test(err.reason)) throw err;
    return loadAll(text, options)[0] ?? null;
  }
}

function keyText(key: unknown): string | undefined {
  if (typeof key === 'string') return key;
  if (typeof key === 'number' || typeof key === 'boolean') return String(key);
  return key === null ? 'null' : undefined;
}

/** Aliases share what they name; written out as JSON it could be endless, or endlessly much. */
function checkUnfolded(value: JsonValue, maxValues: number): void {
  let count = 0;
  const open = new Set<JsonValue>();
  const visit = (node: JsonValue): void => {
    if (++count > maxValues) throw new YamlSyntaxError('yaml: document contains excessive aliasing');
    if (typeof node === 'number' && !Number.isFinite(node))
      throw new YamlSyntaxError('yaml: a number that JSON cannot hold');
    if (typeof node !== 'object' || node === null) return;
    if (open.has(node)) throw new YamlSyntaxError('yaml: anchor contains itself');
    open.add(node);
    for (const child of Object.values(node)) visit(child!);
    open.delete(node);
  };
  visit(value);
}

function duplicateText(text: string, err: YAMLException): string {
  const line = (err.mark?.line ?? 0) + 1;
  const written = text.split('\n')[line - 1] ?? '';
  const key = /^\s*(?:- )*(?:"([^"]*)"|'([^']*)'|([^:{[]+?))\s*:/.exec(written);
  return `line ${line}: key ${JSON.stringify(key?.[1] ?? key?.[2] ?? key?.[3] ?? '')} already set in map`;
}

function inGoWords(err: unknown): unknown {
  if (!(err instanceof YAMLException)) return err;
  const where = err.mark ? `line ${err.mark.line + 1}: ` : '';
  return new YamlSyntaxError(`yaml: ${where}${err.reason}`, { cause: err });
}
