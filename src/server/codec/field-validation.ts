/**
 * What happens to fields nobody knows and to keys that occur twice: nothing, a warning each, or a refusal.
 * At most 100 are told of.
 */
import type { JsonValue } from '../../api/json.ts';
import { fieldPath } from './json-reader.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export type FieldFaults = {
  readonly unknownFields: readonly string[];
  readonly duplicateFields: readonly string[];
  /** Whole texts, of a reader with words of its own: YAML. */
  readonly otherFaults?: readonly string[];
  /** The document as it was read, to tell faults of both kinds in its order. */
  readonly document?: JsonValue;
};

const maxFaults = 100;

function faultTexts({ unknownFields, duplicateFields, otherFaults = [], document }: FieldFaults): string[] {
  const faults = [
    ...duplicateFields.map((path) => ({ path, text: `duplicate field ${JSON.stringify(path)}` })),
    ...unknownFields.map((path) => ({ path, text: `unknown field ${JSON.stringify(path)}` })),
  ];
  if (document !== undefined && unknownFields.length > 0 && duplicateFields.length > 0) {
    const places = placesIn(document);
    faults.sort((a, b) => (places.get(a.path) ?? 0) - (places.get(b.path) ?? 0));
  }
  return [...otherFaults, ...faults.map(({ text }) => text)].slice(0, maxFaults);
}

/** Where each path stands in a document, counted from its beginning. */
function placesIn(document: JsonValue): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const visit = (value: JsonValue | undefined, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, child] of Object.entries(value)) {
      const here = Array.isArray(value) ? `${path}[${key}]` : fieldPath(path, key);
      places.set(here, places.size);
      visit(child, here);
    }
  };
  visit(document, '');
  return places;
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
