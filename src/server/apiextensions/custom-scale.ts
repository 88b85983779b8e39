/**
 * The scale of a custom object, by the paths that its definition names; everything else about a Scale is as for built-in
 * kinds.
 *
 * What lies at a path may be anything, as no schema need say that it is a count: whoever reads it is told what is there.
 */
import {
  badRequest,
  type FieldError,
  internalError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  plainError,
} from '../../api/index.ts';
import { goFormat, goType } from '../patch/go-format.ts';
import type { ScalePaths } from '../registry/custom-kind.ts';
import { toScale } from '../strategy/scale.ts';
import { isNumber, isObject, numberAt, objectAt } from '../strategy/validation/fields.ts';

const LARGEST = 2 ** 31 - 1;
/** Stands for a count that is not there, so that a patch can be told to have said none. */
const NO_COUNT = -(2 ** 31);

/** A custom object without a count has no Scale to show. */
export function toCustomScale(object: KubeObject, paths: ScalePaths): KubeObject {
  const scale = toScaleOf(object, paths);
  if (hasCount(object, paths)) return scale;
  throw internalError(`the spec replicas field "${paths.specReplicasPath}" does not exist`);
}

/** It has one to change: with a count it can be scaled. */
export function toScaleToChange(object: KubeObject, paths: ScalePaths): KubeObject {
  const scale = toScaleOf(object, paths);
  return hasCount(object, paths) ? scale : ({ ...scale, spec: { replicas: NO_COUNT } } as KubeObject);
}

export function toScaleOf(object: KubeObject, paths: ScalePaths): KubeObject {
  for (const [path, type] of typesOf(paths)) {
    const { fault } = read(object as JsonObject, path, type);
    if (fault !== undefined) throw plainError(fault);
  }
  return toScale(object, paths);
}

export function mustSayCount(scale: KubeObject, { specReplicasPath }: ScalePaths): void {
  if (numberAt(objectAt(scale as JsonObject, 'spec'), 'replicas') === NO_COUNT)
    throw badRequest(`the spec replicas field "${specReplicasPath}" cannot be empty`);
}

export function checkScale(object: JsonObject, paths: ScalePaths): FieldError[] {
  const errors: FieldError[] = [];
  for (const [path, type] of typesOf(paths)) {
    const { value, fault } = read(object, path, type);
    const refuse = (why: string) => errors.push(invalidValue(path, value ?? (type === 'int64' ? 0 : ''), why));
    if (fault !== undefined) refuse(fault);
    else if (isNumber(value) && value < 0) refuse('should be a non-negative integer');
    else if (isNumber(value) && value > LARGEST) refuse(`should be less than or equal to ${LARGEST}`);
  }
  return errors;
}

type FieldType = 'int64' | 'string';

function typesOf({ specReplicasPath, statusReplicasPath, labelSelectorPath }: ScalePaths): [string, FieldType][] {
  const types: [string, FieldType][] = [
    [specReplicasPath, 'int64'],
    [statusReplicasPath, 'int64'],
  ];
  if (labelSelectorPath !== undefined) types.push([labelSelectorPath, 'string']);
  return types;
}

function hasCount(object: KubeObject, { specReplicasPath }: ScalePaths): boolean {
  return read(object as JsonObject, specReplicasPath, 'int64').value !== undefined;
}

/** What is there, if it is of the type; else what is wrong with it. */
function read(object: JsonObject, path: string, type: FieldType): { value?: JsonValue; fault?: string } {
  let value: JsonValue | undefined = object;
  let at = '';
  const fault = (wanted: string) => ({
    fault: `${at} accessor error: ${goFormat(value)} is of the type ${goType(value)}, expected ${wanted}`,
  });
  for (const name of path.slice(1).split('.')) {
    if (value === null) return {};
    at += `.${name}`;
    if (!isObject(value)) return fault('map[string]interface{}');
    if (!Object.hasOwn(value, name)) return {};
    value = value[name] as JsonValue;
  }
  return goType(value) === type ? { value } : fault(type);
}
