/** Which Pods and claims a quota with scopes is about; objects of other kinds are in no scope. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { qualityOfService } from '../../kinds/pods/quality-of-service.ts';
import { qualifiedName, type Resource } from '../../registry/resource.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';

type Scope = { readonly name: string; readonly operator: string; readonly values: readonly string[] };

export function isInScopes(quota: KubeObject, resource: Resource, object: KubeObject): boolean {
  return scopesOf(quota).every((scope) => isIn(scope, resource, object));
}

export function isTerminating(pod: KubeObject): boolean {
  return (numberAt(objectAt(pod as JsonObject, 'spec'), 'activeDeadlineSeconds') ?? -1) >= 0;
}

function scopesOf(quota: KubeObject): Scope[] {
  const spec = objectAt(quota as JsonObject, 'spec');
  return [
    ...textsAt(spec, 'scopes').map((name) => ({ name, operator: 'Exists', values: [] })),
    ...objectsAt(objectAt(spec, 'scopeSelector'), 'matchExpressions').map((one) => ({
      name: textAt(one, 'scopeName'),
      operator: textAt(one, 'operator'),
      values: textsAt(one, 'values'),
    })),
  ];
}

function isIn(scope: Scope, resource: Resource, object: KubeObject): boolean {
  if (resource.isCustom) return false;
  const kind = qualifiedName(resource);
  if (kind === 'persistentvolumeclaims')
    return scope.name === 'VolumeAttributesClass' && hasValue(scope, attributesClassesOf(object));
  if (kind !== 'pods') return false;
  const spec = objectAt(object as JsonObject, 'spec') ?? {};
  switch (scope.name) {
    case 'Terminating':
      return isTerminating(object);
    case 'NotTerminating':
      return !isTerminating(object);
    case 'BestEffort':
      return isBestEffort(object, spec);
    case 'NotBestEffort':
      return !isBestEffort(object, spec);
    case 'PriorityClass': {
      const name = textAt(spec, 'priorityClassName');
      return hasValue(scope, name === '' ? [] : [name]);
    }
    case 'CrossNamespacePodAffinity':
      return reachesOtherNamespaces(objectAt(spec, 'affinity'));
    default:
      return false;
  }
}

/** As label selectors judge: what is not there is not in any list. */
function hasValue({ operator, values }: Scope, found: readonly string[]): boolean {
  switch (operator) {
    case 'Exists':
      return found.length > 0;
    case 'DoesNotExist':
      return found.length === 0;
    case 'In':
      return found.some((one) => values.includes(one));
    case 'NotIn':
      return found.length === 0 || found.some((one) => !values.includes(one));
    default:
      return false;
  }
}

function isBestEffort(pod: KubeObject, spec: JsonObject): boolean {
  const told = textAt(objectAt(pod as JsonObject, 'status'), 'qosClass');
  return (told || qualityOfService(spec)) === 'BestEffort';
}

/** The class that is asked for, the one it has, and the one it is on its way to. */
function attributesClassesOf(claim: KubeObject): string[] {
  const status = objectAt(claim as JsonObject, 'status');
  return [
    textAt(objectAt(claim as JsonObject, 'spec'), 'volumeAttributesClassName'),
    textAt(status, 'currentVolumeAttributesClassName'),
    textAt(objectAt(status, 'modifyVolumeStatus'), 'targetVolumeAttributesClassName'),
  ].filter((name) => name !== '');
}

function reachesOtherNamespaces(affinity: JsonObject | undefined): boolean {
  return ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const terms = objectAt(affinity, kind);
    const hard = objectsAt(terms, 'requiredDuringSchedulingIgnoredDuringExecution');
    const soft = objectsAt(terms, 'preferredDuringSchedulingIgnoredDuringExecution');
    return [...hard, ...soft.map((term) => objectAt(term, 'podAffinityTerm'))].some(
      (term) => textsAt(term, 'namespaces').length > 0 || objectAt(term, 'namespaceSelector') !== undefined,
    );
  });
}
