/** What the checks of policies come to, counted as kube-apiserver counts them; children are kept, not looked up. */
import type { Metrics } from '../../metrics/metrics.ts';

export type CheckObserver = {
  checked(policy: string, binding: string, errorType: string, action: string, seconds: number): void;
};

export const silentObserver: CheckObserver = { checked: () => {} };

/** From half a microsecond to a second, as the costs of expressions go. */
const BUCKETS = [0.0000005, 0.001, 0.01, 0.1, 1];
const LABELS = ['policy', 'policy_binding', 'error_type', 'enforcement_action'] as const;

export function policyMetrics(metrics: Metrics, kind: 'validating' | 'mutating'): CheckObserver {
  const prefix = `apiserver_${kind}_admission_policy`;
  const what = kind === 'validating' ? 'Validation' : 'Mutation';
  const total = metrics.counter(
    `${prefix}_check_total`,
    `${what} admission policy check total, labeled by policy and further identified by binding and enforcement action taken.`,
    LABELS,
  );
  const duration = metrics.histogram(
    `${prefix}_check_duration_seconds`,
    `${what} admission latency for individual expressions in seconds, labeled by policy and further including binding and enforcement action taken.`,
    BUCKETS,
    LABELS,
  );
  return {
    checked: (policy, policy_binding, error_type, enforcement_action, seconds) => {
      const labels = { policy, policy_binding, error_type, enforcement_action };
      total.inc(labels);
      duration.observe(labels, seconds);
    },
  };
}
