/** Who owns which field of an object: tracking of plain writes, and server-side apply. */
export { readApplyBody } from './apply-body.ts';
export { applyPatch, applySteps } from './apply-patch.ts';
export type { EntryVersions } from './entry-versions.ts';
export { type FieldPattern, patternOf } from './field-sets/field-pattern.ts';
export { emptySet, type FieldSet, setOfPaths } from './field-sets/field-set.ts';
export { shapeOfValue } from './field-sets/field-shape.ts';
export { setOfObject, TypedError } from './field-sets/object-set.ts';
export { areReadable } from './managers.ts';
export { mergeTyped } from './merge-typed.ts';
export { leastOwnedBytes } from './owned-size.ts';
export { entriesOfScale, withScaleEntries } from './scale-entries.ts';
export { trackUpdate } from './track-update.ts';
