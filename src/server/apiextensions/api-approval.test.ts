import { expect, it } from 'vitest';
import { approvalCondition, approvalFaults } from './api-approval.ts';
import type { Definition } from './definition.ts';

const definition = (group: string, approval?: string) =>
  ({
    metadata: { name: 'x', ...(approval !== undefined && { annotations: { 'api-approved.kubernetes.io': approval } }) },
    spec: { group },
  }) as unknown as Definition;

it.each([
  ['example.com', undefined, undefined, 0],
  ['notk8s.io', undefined, undefined, 0],
  ['x.k8s.io', undefined, ['False', 'MissingAnnotation'], 1],
  ['kubernetes.io', '', ['False', 'MissingAnnotation'], 1],
  ['x.kubernetes.io', 'nonsense', ['False', 'InvalidAnnotation'], 1],
  ['x.k8s.io', 'unapproved, a test', ['False', 'UnapprovedAnnotation'], 0],
  ['k8s.io', 'https://example.com/1', ['True', 'ApprovedAnnotation'], 0],
])('a definition of %s that says %s is %j', (group, approval, want, faults) => {
  const condition = approvalCondition(definition(group, approval));
  expect(condition && [condition.status, condition.reason]).toEqual(want);
  expect(approvalFaults(definition(group, approval))).toHaveLength(faults);
});
