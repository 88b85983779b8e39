/**
 * Whether a Pod may be on a node: its selector, its required node affinity, the node's taints. Resources, affinity between
 * Pods and priorities are left out.
 */
import type { corev1 } from '../../client/index.ts';

type Requirement = corev1.NodeSelectorRequirement;
type Taint = { readonly key: string; readonly value?: string; readonly effect: string };

const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function fitsNode(pod: { readonly spec: corev1.PodSpec }, node: corev1.Node): boolean {
  return misfitOf(pod, node) === undefined;
}

/** What is against it, in the words of kube-scheduler; undefined if nothing is. */
export function misfitOf({ spec }: { readonly spec: corev1.PodSpec }, node: corev1.Node): string | undefined {
  const labels = node.metadata.labels ?? {};
  const { unschedulable = false, taints = [] } = node.spec ?? {};
  const isTolerated = (taint: Taint) => (spec.tolerations ?? []).some((one) => tolerates(one, taint));
  if (unschedulable && !isTolerated(CORDONED)) return 'node(s) were unschedulable';
  const taint = taints.find((one) => one.effect !== 'PreferNoSchedule' && !isTolerated(one));
  if (taint) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
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
  return isWanted && isNear ? undefined : "node(s) didn't match Pod's node affinity/selector";
}

function tolerates({ key = '', operator = 'Equal', value = '', effect }: corev1.Toleration, taint: Taint): boolean {
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
