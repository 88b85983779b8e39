import { expect, it } from 'vitest';
import { type ContentReport, namespaceConditions } from './namespace-conditions.ts';

const now = new Date('2026-01-01T00:00:00Z');
const fine: ContentReport = { failing: [], errors: [], remaining: new Map(), finalizers: new Map() };
const said = (report: Partial<ContentReport>) =>
  namespaceConditions(undefined, { ...fine, ...report }, now).map(({ type, status, reason, message }) => [
    type,
    status,
    reason,
    message,
  ]);

it('all five are said when all is well, in their order', () => {
  expect(said({})).toEqual([
    ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', 'All resources successfully discovered'],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      'False',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    [
      'NamespaceDeletionContentFailure',
      'False',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ],
    ['NamespaceContentRemaining', 'False', 'ContentRemoved', 'All content successfully removed'],
    ['NamespaceFinalizersRemaining', 'False', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
  ]);
});

it('each says what is wrong, sorted', () => {
  const bad = said({
    failing: ['metrics.k8s.io/v1beta1'],
    errors: ['b is away', 'a is away'],
    remaining: new Map([
      ['deployments.apps', 2],
      ['configmaps.', 1],
    ]),
    finalizers: new Map([['example.com/f', 1]]),
  });
  expect(bad.filter(([, status]) => status === 'True').map(([, , reason, message]) => [reason, message])).toEqual([
    [
      'DiscoveryFailed',
      'Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1',
    ],
    ['ContentDeletionFailed', 'Failed to delete all resource types, 2 remaining: a is away, b is away'],
    [
      'SomeResourcesRemain',
      'Some resources are remaining: configmaps. has 1 resource instances, deployments.apps has 2 resource instances',
    ],
    [
      'SomeFinalizersRemain',
      'Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances',
    ],
  ]);
});

it('while pods are waited for, nothing is said to be left; and what is not news comes back as it was', () => {
  const first = namespaceConditions(undefined, { ...fine, remaining: undefined }, now);
  expect(first.every(({ status }) => status === 'False')).toBe(true);
  expect(namespaceConditions(first, fine, new Date('2026-01-02T00:00:00Z'))).toBe(first);
});
