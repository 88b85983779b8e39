/**
 * What happens to fields nobody knows and to keys that occur twice: nothing, a warning each, or a refusal.
 * At most 100 are told of.
 */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export type FieldFaults = {
  readonly unknownFields: readonly string[];
  readonly duplicateFields: readonly string[];
  /** Whole texts, of a reader with words of its own: YAML. */
  readonly otherFaults?: readonly string[];
};

const maxFaults = 100;

/** The texts of all faults, in the order in which the reference server tells them. */
export function faultTexts({ unknownFields, duplicateFields, otherFaults = [] }: FieldFaults): string[] {
  const texts = [
    ...otherFaults,
    ...duplicateFields.map((path) => `duplicate field ${JSON.stringify(path)}`),
    ...unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`),
  ];
  return texts.slice(0, maxFaults);
}

/** Warnings to send along, or the text of the strict error. */
export function applyFieldValidation(
  mode: FieldValidation,
  faults: FieldFaults,
): { readonly warnings: readonly string[]; readonly strictError?: string } {
  if (mode === 'Ignore') return { warnings: [] };
  const texts = faultTexts(faults);
  if (texts.length === 0) return { warnings: [] };
  if (mode === 'Warn') return { warnings: texts };
  return { warnings: [], strictError: `strict decoding error: ${texts.join(', ')}` };
}
