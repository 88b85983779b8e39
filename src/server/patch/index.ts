/** The patches that do not track ownership. */
export { mergePatch } from './merge-patch.ts';
export { patchObject, patchTypeOf } from './patch-object.ts';
