/**
 * A document with one long list in it, encoded an element at a time: the same bytes as `encodeObject` and `encodeYaml` make
 * of the whole, for who lets others have their turn between two elements.
 *
 *     head │ element ╮ element ╮ … │ tail        what joins two elements goes with the second of them
 */
import type { JsonObject } from '../../api/json.ts';
import { type EncodeOptions, encodeObject, encodeYaml, goJson, sortKeys } from './encode.ts';

export type ListEncoder = {
  readonly head: Buffer;
  /** The next element. */
  readonly element: (element: JsonObject) => Buffer;
  readonly tail: () => Buffer;
};

/** `document[name]` is the list, still empty. */
export function jsonListEncoder(document: JsonObject, name: string, options: EncodeOptions = {}): ListEncoder {
  const { isCustom = false, isPretty = false } = options;
  const key = `${JSON.stringify(name)}:${isPretty ? ' ' : ''}[`;
  const [head, tail] = splitBehind(encodeObject(document, options).toString(), key);
  let count = 0;
  return {
    head: Buffer.from(head),
    element: (element) => {
      const text = goJson(isCustom ? sortKeys(element) : element, isPretty ? 2 : 0);
      const lead = count++ === 0 ? '' : ',';
      // Line feeds inside of texts are escaped: all that are left are between fields.
      return Buffer.from(isPretty ? `${lead}\n    ${text.replaceAll('\n', '\n    ')}` : lead + text);
    },
    tail: () => Buffer.from(isPretty && count > 0 ? `\n  ${tail}` : tail),
  };
}

/** As `jsonListEncoder`; `apiVersion` comes before the list. */
export function yamlListEncoder(document: JsonObject, name: string): ListEncoder {
  const [head, tail] = splitBehind(encodeYaml(document).toString(), `\n${name}:`);
  const empty = tail.slice(0, tail.indexOf('\n'));
  let count = 0;
  return {
    head: Buffer.from(head),
    element: (element) => {
      count++;
      return encodeYaml({ [name]: [element] }).subarray(name.length + 1, -1);
    },
    tail: () => Buffer.from(count > 0 ? tail.slice(empty.length) : tail),
  };
}

/** At the list: in texts quotes are escaped, and lines begin with blanks. */
function splitBehind(text: string, mark: string): [head: string, tail: string] {
  const at = text.indexOf(mark) + mark.length;
  return [text.slice(0, at), text.slice(at)];
}
