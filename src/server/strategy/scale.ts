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
import { ensureObject, isNumber, isObject, numberAt, objectAt, valueAt } from './validation/fields.ts';

/** As in a custom resource definition, without the leading dot. */
export type ScalePaths = {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  /** A text; absent if the kind has none. */
  readonly labelSelector?: string;
};

const builtIn: ScalePaths = { specReplicas: 'spec.replicas', statusReplicas: 'status.replicas' };

export function toScale(object: KubeObject, paths: ScalePaths = builtIn): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = numberIn(object, paths.specReplicas);
  const selector = selectorText(object, paths);
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
    status: { replicas: numberIn(object, paths.statusReplicas), ...(selector !== '' && { selector }) },
  };
}

/** Sets the wanted number of replicas; the versions are the caller's to compare. */
export function applyScale(object: KubeObject, scale: KubeObject, { specReplicas }: ScalePaths = builtIn): void {
  const names = specReplicas.split('.');
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
  const value = valueAt(object as JsonObject, path);
  return isNumber(value) ? Number(value) : 0;
}

function selectorText(object: KubeObject, { labelSelector }: ScalePaths): string {
  if (labelSelector !== undefined) {
    const value = valueAt(object as JsonObject, labelSelector);
    return typeof value === 'string' ? value : '';
  }
  const selector: JsonValue | undefined = valueAt(object as JsonObject, 'spec.selector');
  if (!isObject(selector)) return '';
  const isPlain = object.kind === 'ReplicationController';
  return isPlain
    ? labelSelectorFromLabels(selector as Record<string, string>).toString()
    : labelSelectorFromObject(selector as LabelSelectorObject).toString();
}
