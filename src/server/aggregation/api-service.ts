/**
 * An APIService as its readers see it: who answers for a group in a version, this server or one behind a Service. Plain
 * data of the wire, validated when it was written. Pure.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';

export const API_SERVICES = { group: 'apiregistration.k8s.io', plural: 'apiservices' } as const;

export type ApiServiceCondition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
};

export type ApiService = Pick<KubeObject, 'metadata'> & {
  readonly spec: {
    readonly group?: string;
    readonly version: string;
    readonly groupPriorityMinimum: number;
    readonly versionPriority: number;
    readonly service?: { readonly namespace: string; readonly name: string; readonly port?: number };
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
  };
  readonly status?: { readonly conditions?: readonly ApiServiceCondition[] };
};

export function asApiService(object: KubeObject): ApiService {
  return object as unknown as ApiService;
}

export function nameOf(group: string, version: string): string {
  return `${version}.${group}`;
}

export function isAvailable({ status }: Pick<ApiService, 'status'>): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True') ?? false;
}

export const LOCAL_CONDITION = {
  type: 'Available',
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
} as const;

/** The status with the condition in its place; its time moves only when its status does. */
export function withAvailable(
  { status }: Pick<ApiService, 'status'>,
  { type, status: is, reason, message }: ApiServiceCondition,
  now: string,
): JsonObject {
  const known = status?.conditions ?? [];
  const old = known.find((one) => one.type === type);
  const made: ApiServiceCondition = {
    type,
    status: is,
    lastTransitionTime: old?.status === is ? (old.lastTransitionTime ?? now) : now,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
  const conditions = old ? known.map((one) => (one === old ? made : one)) : [...known, made];
  return { ...(status as unknown as JsonObject), conditions: conditions as unknown as JsonObject[] };
}

export type Priority = { readonly group: number; readonly version: number };

const DEFAULT_VERSION_PRIORITY = 15;
const CUSTOM_PRIORITY: Priority = { group: 1000, version: 100 };

const groupPriorities: Readonly<Record<string, number>> = {
  '': 18000,
  apps: 17800,
  'events.k8s.io': 17750,
  'authentication.k8s.io': 17700,
  'authorization.k8s.io': 17600,
  autoscaling: 17500,
  batch: 17400,
  'certificates.k8s.io': 17300,
  'networking.k8s.io': 17200,
  policy: 17100,
  'rbac.authorization.k8s.io': 17000,
  'storage.k8s.io': 16800,
  'admissionregistration.k8s.io': 16700,
  'apiextensions.k8s.io': 16700,
  'scheduling.k8s.io': 16600,
  'coordination.k8s.io': 16500,
  'node.k8s.io': 16300,
  'discovery.k8s.io': 16200,
  'resource.k8s.io': 16200,
  'flowcontrol.apiserver.k8s.io': 16100,
};
const versionPriorities: Readonly<Record<string, number>> = {
  'v1.': 1,
  'v2.autoscaling': 30,
  'v1.resource.k8s.io': 21,
  'v1.flowcontrol.apiserver.k8s.io': 21,
};

/** Where a group and version of this server stands among all. */
export function ownPriority(group: string, version: string, isCustom: boolean): Priority {
  if (isCustom) return CUSTOM_PRIORITY;
  return {
    // The group of APIServices comes before all others, and has none itself.
    group: group === API_SERVICES.group ? Number.POSITIVE_INFINITY : (groupPriorities[group] ?? CUSTOM_PRIORITY.group),
    version: versionPriorities[nameOf(group, version)] ?? DEFAULT_VERSION_PRIORITY,
  };
}
