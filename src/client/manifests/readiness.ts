/**
 * In which order kinds are applied, and whether an object is what it is to be. Pure. What has a status that we do not
 * know is ready when it says nothing against it: a condition `Ready` or `Available` that is False does.
 */

/** Below 0: others need it there, and ready. */
const ORDER: readonly (readonly string[])[] = [
  ['Namespace'],
  ['CustomResourceDefinition'],
  ['PriorityClass', 'StorageClass', 'IngressClass', 'RuntimeClass'],
  ['ServiceAccount', 'ClusterRole', 'Role'],
  ['ClusterRoleBinding', 'RoleBinding'],
  ['ResourceQuota', 'LimitRange', 'NetworkPolicy', 'PodDisruptionBudget'],
  ['Secret', 'ConfigMap', 'PersistentVolume', 'PersistentVolumeClaim'],
  ['Service'],
];
const LAST = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'APIService'];
const NEEDED = 2;

export function orderOf({ kind }: { readonly kind: string }): number {
  const at = ORDER.findIndex((kinds) => kinds.includes(kind));
  if (at >= 0) return at - NEEDED;
  return LAST.includes(kind) ? ORDER.length + 1 : ORDER.length;
}

/** Where nobody looks after the kind, nothing else would tell. */
const NOT_SEEN = 'no controller has seen it: does one run?';

type Seen = {
  readonly kind: string;
  readonly metadata: { readonly generation?: number };
  readonly spec?: unknown;
  readonly status?: unknown;
};
type Condition = {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
  readonly reason?: string;
};
type Status = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[] | null;
  readonly phase?: string;
  readonly [field: string]: unknown;
};

/** Undefined: it is. Else what is missing. Throws if it will never be. */
export function isReady({ kind, metadata, spec = {}, status = {} }: Seen): string | undefined {
  const { observedGeneration, conditions: told, phase, ...counts } = (status ?? {}) as Status;
  const conditions = told ?? []; // null, until somebody has set one
  const condition = (type: string) => conditions.find((one) => one.type === type);
  const count = (name: string) => Number(counts[name] ?? 0);
  const wanted = Number((spec as { replicas?: number }).replicas ?? 1);
  const isSeen = observedGeneration === undefined || observedGeneration >= (metadata.generation ?? 0);
  switch (kind) {
    case 'Namespace':
      return phase === 'Active' ? undefined : `its phase is ${phase ?? 'not known yet'}`;
    case 'CustomResourceDefinition':
      if (condition('NamesAccepted')?.status === 'False') throw new Error(condition('NamesAccepted')!.message);
      return condition('Established')?.status === 'True' ? undefined : 'it is not established';
    case 'Deployment':
      if (condition('Progressing')?.reason === 'ProgressDeadlineExceeded')
        throw new Error(condition('Progressing')!.message);
      if (observedGeneration === undefined || !isSeen) return NOT_SEEN;
      return atLeast(Math.min(count('updatedReplicas'), count('availableReplicas')), wanted, 'available');
    case 'StatefulSet':
    case 'ReplicaSet':
      if (observedGeneration === undefined || !isSeen) return NOT_SEEN;
      return atLeast(count('readyReplicas'), wanted, 'ready');
    case 'DaemonSet':
      if (observedGeneration === undefined || !isSeen) return NOT_SEEN;
      return atLeast(count('numberReady'), count('desiredNumberScheduled'), 'ready');
    case 'Job':
      if (condition('Failed')?.status === 'True') throw new Error(condition('Failed')!.message ?? 'it has failed');
      return condition('Complete')?.status === 'True' ? undefined : 'it is not complete';
    case 'Pod':
      if (phase === 'Failed') throw new Error('it has failed');
      return phase === 'Succeeded' || condition('Ready')?.status === 'True' ? undefined : 'it is not ready';
    case 'PersistentVolumeClaim':
      return undefined; // some are bound only when a pod uses them
    default: {
      const against = ['Ready', 'Available'].map(condition).find((one) => one?.status === 'False');
      if (!isSeen) return NOT_SEEN;
      return against ? (against.message ?? `it is not ${against.type}`) : undefined;
    }
  }
}

function atLeast(count: number, wanted: number, word: string): string | undefined {
  return count >= wanted ? undefined : `${count} of ${wanted} are ${word}`;
}
