/**
 * YAML text to JSON values, as Kubernetes reads it: the first document, whatever follows it, with `<<` merges and the words
 * and numbers of `yaml-scalars.ts`. The grammar is js-yaml's; what its events come to is ours (`yaml-document.ts`).
 *
 * Bounded: the text by the caller, nesting by `maxDepth`, aliases by the bytes they unfold to. The work is linear in the
 * text. A body that is JSON, as most applies are, takes the faster way.
 *
 * It fails with a YamlSyntaxError whose message begins with `yaml: `.
 */
import { parseEvents, YAMLException } from 'js-yaml';
import type { JsonValue } from '../../../api/json.ts';
import { cutText } from '../../../api/json-text.ts';
import { pathLimitBytes } from '../json/fault-paths.ts';
import { tryJson } from '../json/json-reader.ts';
import { buildYaml, linesOf, type YamlDocument, YamlSyntaxError } from './yaml-document.ts';

export { YamlSyntaxError } from './yaml-document.ts';

export type YamlReading = {
  readonly value: JsonValue;
  /** What a strict reader objects to, e.g. `line 7: key "k" already set in map`; at most 100. */
  readonly duplicates: readonly string[];
};

const maxDepth = 200;
const reasonLimitBytes = 1024;

export function readYaml(text: string): YamlReading {
  const json = text.startsWith('{') ? tryJson(text) : undefined;
  if (json !== undefined) return { value: json, duplicates: [] };
  const source = firstDocument(text);
  try {
    const { value, duplicates } = buildYaml(parseEvents(source, { maxDepth }), source);
    return { value, duplicates: duplicateTexts(source, duplicates) };
  } catch (err) {
    throw inGoWords(err);
  }
}

/** The text up to where its first document ends, so that lines keep their numbers. */
function firstDocument(text: string): string {
  const marks = /(?:^|[\r\n])(?:---|\.\.\.)(?=[ \t\r\n]|$)/g;
  let from = 0;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    const end = marks.lastIndex;
    const isBegun = hasContent(text, from, end - 3);
    if (isBegun) return text.slice(0, end - 3);
    from = end;
    if (text[end - 1] === '-') break; // it begins here: the next mark ends it
  }
  const mark = marks.lastIndex === 0 ? null : marks.exec(text);
  return mark ? text.slice(0, marks.lastIndex - 3) : text;
}

/** Whether there is more than blanks, comments and directives. */
function hasContent(text: string, from: number, to: number): boolean {
  let isLineStart = true;
  for (let i = from; i < to; i++) {
    const char = text[i]!;
    if (char === '\n' || char === '\r') isLineStart = true;
    else if (char === '#' || (char === '%' && isLineStart)) {
      while (i + 1 < to && text[i + 1] !== '\n' && text[i + 1] !== '\r') i++;
    } else if (char === ' ' || char === '\t' || char === '\ufeff') isLineStart = false;
    else return true;
  }
  return false;
}

function duplicateTexts(source: string, duplicates: YamlDocument['duplicates']): string[] {
  const lines = linesOf(
    source,
    duplicates.map(({ position }) => position),
  );
  return duplicates.map(({ key, position }) => {
    const shown = JSON.stringify(cutText(key, pathLimitBytes));
    return `line ${lines.get(position)}: key ${shown} already set in map`;
  });
}

function inGoWords(err: unknown): unknown {
  if (!(err instanceof YAMLException)) return err;
  const where = err.mark ? `line ${err.mark.line + 1}: ` : '';
  return new YamlSyntaxError(`yaml: ${where}${cutText(err.reason, reasonLimitBytes)}`);
}
