/** The patches that do not track ownership: one door, and the pure functions behind it. */
export { jsonPatch } from './json-patch.ts';
export { mergePatch } from './merge-patch.ts';
export { type PatchRequest, type PatchType, patchObject, patchTypeOf } from './patch-object.ts';
export { strategicMergePatch } from './strategic-merge-patch.ts';
