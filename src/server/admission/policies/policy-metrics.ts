/** What the checks of policies come to, counted as kube-apiserver counts them; children are kept, not looked up. */
import type { Metrics } from '../../metrics/metrics.ts';
import type { ExpressionTimer } from '../expressions/evaluation.ts';

export type CheckObserver = {
  checked(policy: string, binding: string, errorType: string, action: string, seconds: number): void;
};

export const silentObserver: CheckObserver = { checked: () => {} };

/** Prometheus' own, which kube-apiserver leaves these two with. */
const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function expressionTimer(metrics: Metrics): ExpressionTimer {
  const histogram = (what: string) =>
    metrics.histogram(`apiserver_cel_${what}_duration_seconds`, `CEL ${what} time in seconds.`, DEFAULT_BUCKETS);
  const [compilation, evaluation] = [histogram('compilation'), histogram('evaluation')];
  return {
    compiled: (seconds) => compilation.labels().observe(seconds),
    evaluated: (seconds) => evaluation.labels().observe(seconds),
  };
}

/** From half a microsecond to a second, as the costs of expressions go. */
const BUCKETS = [0.0000005, 0.001, 0.01, 0.1, 1];
const LABELS = ['policy', 'policy_binding', 'error_type'] as const;

export function validatingMetrics(metrics: Metrics): CheckObserver {
  const labels = [...LABELS, 'enforcement_action'] as const;
  const total = metrics.counter(
    'apiserver_validating_admission_policy_check_total',
    'Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.',
    labels,
  );
  const duration = metrics.histogram(
    'apiserver_validating_admission_policy_check_duration_seconds',
    'Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.',
    BUCKETS,
    labels,
  );
  return {
    checked: (policy, policy_binding, error_type, enforcement_action, seconds) => {
      const of = { policy, policy_binding, error_type, enforcement_action };
      total.inc(of);
      duration.observe(of, seconds);
    },
  };
}

/** A mutation is made or not: there is no action to tell. */
export function mutatingMetrics(metrics: Metrics): CheckObserver {
  const total = metrics.counter(
    'apiserver_mutating_admission_policy_check_total',
    'Mutation admission policy check total, labeled by policy and further identified by binding.',
    LABELS,
  );
  const duration = metrics.histogram(
    'apiserver_mutating_admission_policy_check_duration_seconds',
    'Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.',
    BUCKETS,
    LABELS,
  );
  return {
    checked: (policy, policy_binding, error_type, _action, seconds) => {
      const of = { policy, policy_binding, error_type };
      total.inc(of);
      duration.observe(of, seconds);
    },
  };
}
