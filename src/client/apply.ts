/**
 * Many objects at once, from YAML or from code: a door of its own, `longwatch/client/apply`, for tools that install things.
 */
export {
  type AppliedObject,
  ApplyAllError,
  type ApplyAllOptions,
  type ApplyAllResult,
  type ApplyProgress,
  applyAll,
} from './manifests/apply-all.ts';
export { type Manifest, readManifests } from './manifests/read-manifests.ts';
