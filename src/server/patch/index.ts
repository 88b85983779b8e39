/** The three patches that do not track ownership, as pure functions. */
export { jsonPatch } from './json-patch.ts';
export { mergePatch } from './merge-patch.ts';
export { strategicMergePatch } from './strategic-merge-patch.ts';
