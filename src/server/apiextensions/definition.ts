/**
 * A CustomResourceDefinition as its readers see it, and the conditions of its life.
 *
 * Plain data of the wire; definitions are validated when they are written, so what is read here is taken at its word.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { PrinterColumn, ScalePaths } from '../registry/custom-kind.ts';

export const DEFINITIONS = { group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions' } as const;
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

export type DefinitionNames = {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
};

export type DefinitionVersion = {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: JsonObject };
  subresources?: { status?: JsonObject; scale?: ScalePaths };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
};

export type Condition = {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
};

export type DefinitionSpec = {
  group: string;
  names: DefinitionNames;
  scope: 'Cluster' | 'Namespaced';
  versions: DefinitionVersion[];
  conversion?: { strategy: string; webhook?: JsonObject };
  preserveUnknownFields?: boolean;
};

export type DefinitionStatus = {
  conditions: Condition[] | null;
  acceptedNames: DefinitionNames;
  storedVersions: string[];
};

export type Definition = Pick<KubeObject, 'kind' | 'apiVersion' | 'metadata'> & {
  spec: DefinitionSpec;
  status: DefinitionStatus;
};

export function asDefinition(object: KubeObject): Definition {
  return object as unknown as Definition;
}

export function conditionOf({ status }: Pick<Definition, 'status'>, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(definition: Pick<Definition, 'status'>, type: string): boolean {
  return conditionOf(definition, type)?.status === 'True';
}

/** The conditions with this one in its place; its time moves only when its status does. */
export function withCondition(conditions: Condition[] | null, next: Condition, now: string): Condition[] {
  const known = conditions ?? [];
  const old = known.find(({ type }) => type === next.type);
  const { type, status, reason, message } = next;
  const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
  const made = {
    type,
    status,
    lastTransitionTime,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
  return old ? known.map((condition) => (condition === old ? made : condition)) : [...known, made];
}

/** The version objects are stored in; the last one marked counts, as there must be only one. */
export function storageVersionOf({ versions }: Pick<DefinitionSpec, 'versions'>): string | undefined {
  return versions.findLast(({ storage }) => storage)?.name;
}
