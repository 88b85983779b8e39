/**
 * The scale of a custom object, by the paths that its definition names. A definition writes them with a leading dot;
 * everything else about a Scale is as for built-in kinds.
 */
import { type JsonObject, type KubeObject, plainError } from '../../api/index.ts';
import type { ScalePaths as DefinedPaths } from '../registry/custom-kind.ts';
import { type ScalePaths, toScale } from '../strategy/scale.ts';
import { valueAt } from '../strategy/validation/fields.ts';

export function scalePathsOf({ specReplicasPath, statusReplicasPath, labelSelectorPath }: DefinedPaths): ScalePaths {
  return {
    specReplicas: specReplicasPath.slice(1),
    statusReplicas: statusReplicasPath.slice(1),
    // Without one there is no selector at all, wherever the object may keep one.
    labelSelector: labelSelectorPath?.slice(1) ?? '',
  };
}

/** A custom object without a count cannot be scaled, and so has no Scale to show. */
export function toCustomScale(object: KubeObject, paths: DefinedPaths): KubeObject {
  if (readNumber(object as JsonObject, paths.specReplicasPath) === undefined)
    throw plainError(`the spec replicas field "${paths.specReplicasPath}" does not exist`);
  return toScale(object, scalePathsOf(paths));
}

export function readNumber(object: JsonObject, path: string): number | undefined {
  const value = valueAt(object, path.slice(1));
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}
