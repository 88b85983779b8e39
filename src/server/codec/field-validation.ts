/**
 * What happens to fields nobody knows and to keys that occur twice: nothing, a warning each, or a refusal.
 * At most 100 are told of, and no more than `textsLimitBytes` of text.
 */

import type { JsonValue } from '../../api/json.ts';
import { cutText } from '../../api/json-text.ts';
import { type FaultPath, faultPathText, inDocumentOrder, maxFaults } from './json/fault-paths.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export type FieldFaults = {
  readonly unknownFields: readonly FaultPath[];
  readonly duplicateFields: readonly FaultPath[];
  /** Whole texts, of a reader with words of its own: YAML. */
  readonly otherFaults?: readonly string[];
  /** The document as it was read, to tell faults of both kinds in its order. */
  readonly document?: JsonValue;
};

const textsLimitBytes = 64 * 1024;

function faultTexts({ unknownFields, duplicateFields, otherFaults = [], document }: FieldFaults): string[] {
  let faults = [
    ...duplicateFields.map((path) => ({ path, what: 'duplicate' })),
    ...unknownFields.map((path) => ({ path, what: 'unknown' })),
  ];
  if (document !== undefined && unknownFields.length > 0 && duplicateFields.length > 0)
    faults = inDocumentOrder(faults, document);
  const texts: string[] = [];
  let room = textsLimitBytes;
  const tell = (text: string): boolean => {
    texts.push(cutText(text, room));
    room -= Buffer.byteLength(texts.at(-1)!);
    return room > 0 && texts.length < maxFaults;
  };
  for (const text of otherFaults) if (!tell(text)) return texts;
  for (const { path, what } of faults) if (!tell(`${what} field ${JSON.stringify(faultPathText(path))}`)) break;
  return texts;
}

/** Warnings to send along, or the text of the strict error. */
export function applyFieldValidation(
  mode: FieldValidation,
  faults: FieldFaults,
): { readonly warnings: readonly string[]; readonly strictError?: string } {
  const { unknownFields, duplicateFields, otherFaults } = faults;
  if (mode === 'Ignore' || unknownFields.length + duplicateFields.length + (otherFaults?.length ?? 0) === 0)
    return { warnings: [] };
  const texts = faultTexts(faults);
  if (mode === 'Warn') return { warnings: texts };
  return { warnings: [], strictError: `strict decoding error: ${texts.join(', ')}` };
}
