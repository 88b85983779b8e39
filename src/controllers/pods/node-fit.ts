/**
 * Whether a Pod may be on a node: its selector, its required node affinity, the node's taints. Resources, affinity between
 * Pods and priorities are left out.
 */
import type { corev1 } from '../../client/index.ts';

type Requirement = corev1.NodeSelectorRequirement;

export function fitsNode({ spec }: { readonly spec: corev1.PodSpec }, node: corev1.Node): boolean {
  const labels = node.metadata.labels ?? {};
  const { unschedulable = false, taints = [] } = node.spec ?? {};
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const isWanted = Object.entries(spec.nodeSelector ?? {}).every(([label, value]) => labels[label] === value);
  const isNear =
    terms === undefined ||
    terms.some(
      ({ matchExpressions = [], matchFields = [] }) =>
        matchExpressions.length + matchFields.length > 0 &&
        matchExpressions.every((one) => matches(one, labels[one.key])) &&
        matchFields.every((one) => matches(one, one.key === 'metadata.name' ? node.metadata.name : undefined)),
    );
  const all = [
    ...taints,
    ...(unschedulable ? [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] : []),
  ];
  const isTolerated = all.every(
    (taint) => taint.effect === 'PreferNoSchedule' || (spec.tolerations ?? []).some((one) => tolerates(one, taint)),
  );
  return isWanted && isNear && isTolerated;
}

function tolerates(
  { key = '', operator = 'Equal', value = '', effect }: corev1.Toleration,
  taint: { readonly key: string; readonly value?: string; readonly effect: string },
): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === '') return operator === 'Exists';
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
}

function matches({ operator, values = [] }: Requirement, found: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return found !== undefined && values.includes(found);
    case 'NotIn':
      return found === undefined || !values.includes(found);
    case 'Exists':
      return found !== undefined;
    case 'DoesNotExist':
      return found === undefined;
    case 'Gt':
      return found !== undefined && Number(found) > Number(values[0]);
    case 'Lt':
      return found !== undefined && Number(found) < Number(values[0]);
    default:
      return false;
  }
}
