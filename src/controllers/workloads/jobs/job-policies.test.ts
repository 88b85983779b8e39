import { expect, it } from 'vitest';
import type { batchv1, corev1 } from '../../../client/index.ts';
import { failureAnnotations, judgeFailure } from './job-policies.ts';

const rules: batchv1.PodFailurePolicyRule[] = [
  { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }, { type: 'Odd', status: 'False' }] },
  { action: 'FailIndex', onExitCodes: { operator: 'NotIn', values: [1, 2] } },
  { action: 'Count', onExitCodes: { operator: 'In', values: [2], containerName: 'other' } },
  { action: 'FailJob', onExitCodes: { operator: 'In', values: [2] } },
];
const job = { spec: { podFailurePolicy: { rules }, backoffLimitPerIndex: 3 } } as unknown as batchv1.Job;

function pod(status: object, annotations = {}): corev1.Pod {
  return { metadata: { name: 'p', namespace: 'n', annotations }, status } as unknown as corev1.Pod;
}
const ended = (name: string, exitCode: number) => ({
  containerStatuses: [{ name, state: { terminated: { exitCode } } }],
});
const having = (type: string, status: string) => ({ conditions: [{ type, status }] });

it.each<[status: object, action: string]>([
  [having('DisruptionTarget', 'True'), 'Ignore'],
  [having('DisruptionTarget', 'False'), 'Count'],
  [having('Odd', 'False'), 'Ignore'],
  [ended('c', 3), 'FailIndex'],
  [ended('c', 0), 'Count'],
  [ended('c', 1), 'Count'],
  [ended('c', 2), 'FailJob'],
  [ended('other', 2), 'Count'],
])('a Pod with %j: %s', (status, action) => {
  expect(judgeFailure(job, pod(status)).action).toBe(action);
});

it('what failed and what is ignored is counted apart, from Pod to Pod', () => {
  const [failures, ignored] = ['failure-count', 'ignored-failure-count'].map(
    (one) => `batch.kubernetes.io/job-index-${one}`,
  );
  const first = failureAnnotations(job, undefined);
  expect(first).toEqual({ [failures!]: '0' });
  const second = failureAnnotations(job, pod(ended('c', 1), first));
  expect(second).toEqual({ [failures!]: '1' });
  expect(failureAnnotations(job, pod(having('DisruptionTarget', 'True'), second))).toEqual({
    [failures!]: '1',
    [ignored!]: '1',
  });
});
