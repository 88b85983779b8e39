/** The patches that do not track ownership. */
export { patchObject, patchTypeOf } from './patch-object.ts';
