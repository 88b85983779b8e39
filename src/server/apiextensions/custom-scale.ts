/**
 * The scale of a custom object, by the paths that its definition names; everything else about a Scale is as for built-in
 * kinds.
 */
import { type JsonObject, type KubeObject, plainError } from '../../api/index.ts';
import type { ScalePaths } from '../registry/custom-kind.ts';
import { toScale } from '../strategy/scale.ts';
import { valueAt } from '../strategy/validation/fields.ts';

/** A custom object without a count cannot be scaled, and so has no Scale to show. */
export function toCustomScale(object: KubeObject, paths: ScalePaths): KubeObject {
  if (readNumber(object as JsonObject, paths.specReplicasPath) === undefined)
    throw plainError(`the spec replicas field "${paths.specReplicasPath}" does not exist`);
  return toScale(object, paths);
}

export function readNumber(object: JsonObject, path: string): number | undefined {
  const value = valueAt(object, path.slice(1));
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}
