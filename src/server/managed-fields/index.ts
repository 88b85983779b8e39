/** Who owns which field of an object: tracking of plain writes, and server-side apply. */
export { readApplyBody } from './apply-body.ts';
export { type ApplyRequest, applyPatch } from './apply-patch.ts';
export { emptySet, type FieldSet, fromFieldsV1, setOfPaths, toFieldsV1 } from './field-set.ts';
export { trackUpdate, type UpdateToTrack } from './track-update.ts';
