/** What PodSecurity decides, counted as kube-apiserver counts it. */
import type { Metrics } from '../../metrics/metrics.ts';
import type { SecurityObserver } from './pod-security.ts';
import type { LevelVersion } from './policy.ts';

const LABELS = [
  'decision',
  'mode',
  'policy_level',
  'policy_version',
  'request_operation',
  'resource',
  'subresource',
] as const;
/** The version of the API this server speaks. */
const CURRENT_MINOR = 36;

export function securityMetrics(metrics: Metrics): SecurityObserver {
  const total = metrics.counter(
    'pod_security_evaluations_total',
    'Number of policy evaluations that occurred, not counting ignored or exempt requests.',
    LABELS,
  );
  return ({ operation, resource, subresource }, decision, mode, policy) =>
    total.inc({
      decision,
      mode,
      policy_level: policy.level,
      policy_version: versionLabel(policy),
      request_operation: operation.toLowerCase(),
      resource: resource.plural === 'pods' ? 'pod' : 'controller',
      subresource,
    });
}

/** Labels come from people: what nobody knows yet is one value. */
function versionLabel({ version }: LevelVersion): string {
  if (version === 'latest') return version;
  return version > CURRENT_MINOR ? 'future' : `v1.${version}`;
}
