/**
 * Containers that may do anything to their node: refused, as kube-apiserver refuses them unless it is started with
 * `--allow-privileged`. The rules of pods always say so; what is allowed here is taken out of what they say.
 */
import type { FieldError } from '../../../../api/index.ts';

export const disallowedByPolicy = 'disallowed by cluster policy';

export function withoutClusterPolicy(faults: readonly FieldError[]): FieldError[] {
  return faults.filter(
    ({ reason, message }) => reason !== 'FieldValueForbidden' || !message.endsWith(disallowedByPolicy),
  );
}
