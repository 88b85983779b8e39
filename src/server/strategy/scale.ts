/**
 * The `scale` subresource: the one form in which anything that has replicas can be read and resized.
 *
 * The paths say where a kind keeps these numbers; built-in kinds keep them all in the same places, a custom kind says
 * where in its definition.
 */
import {
  type FieldError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  type LabelSelectorObject,
  labelSelectorFromLabels,
  labelSelectorFromObject,
} from '../../api/index.ts';
import type { ScalePaths } from '../registry/custom-kind.ts';
import { ensureObject, isNumber, isObject, numberAt, objectAt, valueAt } from './validation/fields.ts';

const builtIn: ScalePaths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

/** Without paths it is a built-in kind, whose selector is an object. */
export function toScale(object: KubeObject, paths?: ScalePaths): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { specReplicasPath, statusReplicasPath } = paths ?? builtIn;
  const replicas = numberIn(object, specReplicasPath);
  const selector = paths ? textIn(object, paths.labelSelectorPath) : selectorText(object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: numberIn(object, statusReplicasPath), ...(selector !== '' && { selector }) },
  };
}

/** Where the count is kept: `.spec.replicas`, unless a definition says another place. */
export function countPath({ specReplicasPath }: ScalePaths = builtIn): string {
  return specReplicasPath;
}

/** Sets the wanted number of replicas; the versions are the caller's to compare. */
export function applyScale(object: KubeObject, scale: KubeObject, paths: ScalePaths = builtIn): void {
  const names = keyOf(paths.specReplicasPath).split('.');
  const field = names.pop()!;
  let owner = object as JsonObject;
  for (const name of names) owner = ensureObject(owner, name);
  owner[field] = numberAt(objectAt(scale as JsonObject, 'spec'), 'replicas') ?? 0;
}

/** The refusal is about a `Scale` of the group `autoscaling`. */
export function validateScale(scale: KubeObject): FieldError[] {
  const replicas = numberAt(objectAt(scale as JsonObject, 'spec'), 'replicas') ?? 0;
  return replicas < 0 ? [invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')] : [];
}

function numberIn(object: KubeObject, path: string): number {
  const value = valueAt(object as JsonObject, keyOf(path));
  return isNumber(value) ? Number(value) : 0;
}

function textIn(object: KubeObject, path: string | undefined): string {
  const value = path === undefined ? undefined : valueAt(object as JsonObject, keyOf(path));
  return typeof value === 'string' ? value : '';
}

/** Without the leading dot. */
function keyOf(path: string): string {
  return path.slice(1);
}

function selectorText(object: KubeObject): string {
  const selector: JsonValue | undefined = valueAt(object as JsonObject, 'spec.selector');
  if (!isObject(selector)) return '';
  const isPlain = object.kind === 'ReplicationController';
  return isPlain
    ? labelSelectorFromLabels(selector as Record<string, string>).toString()
    : labelSelectorFromObject(selector as LabelSelectorObject).toString();
}
