/**
 * What a namespace that is being deleted says of itself: five conditions, always all of them, in the words that clients
 * of a cluster know. Pure; where nothing would be different the conditions come back as they were given.
 */
import type { corev1 } from '../../client/index.ts';
import { setCondition } from '../../controller/index.ts';

/** What one round of deleting has found. */
export type ContentReport = {
  /** `group/version` that could not be asked for their kinds. */
  readonly failing: readonly string[];
  readonly errors: readonly string[];
  /** By `plural.group`; a kind of the core group ends in the dot. Undefined: the round did not come so far. */
  readonly remaining: ReadonlyMap<string, number> | undefined;
  readonly finalizers: ReadonlyMap<string, number>;
};

export function namespaceConditions(
  known: readonly corev1.NamespaceCondition[] | undefined,
  { failing, errors, remaining, finalizers }: ContentReport,
  now: Date,
): corev1.NamespaceCondition[] {
  const stale = failing.map((version) => `${version}: stale GroupVersion discovery: ${version}`).join(', ');
  const left = listed(remaining, 'has');
  const held = listed(finalizers, 'in');
  const wanted: [type: string, isBad: boolean, bad: [string, string], fine: [string, string]][] = [
    [
      'NamespaceDeletionDiscoveryFailure',
      failing.length > 0,
      [
        'DiscoveryFailed',
        `Discovery failed for some groups, ${failing.length} failing: unable to retrieve the complete list of server APIs: ${stale}`,
      ],
      ['ResourcesDiscovered', 'All resources successfully discovered'],
    ],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      ['', ''],
      ['ParsedGroupVersions', 'All legacy kube types successfully parsed'],
    ],
    [
      'NamespaceDeletionContentFailure',
      errors.length > 0,
      [
        'ContentDeletionFailed',
        `Failed to delete all resource types, ${errors.length} remaining: ${[...errors].sort().join(', ')}`,
      ],
      ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    ],
    [
      'NamespaceContentRemaining',
      left !== '',
      ['SomeResourcesRemain', `Some resources are remaining: ${left}`],
      ['ContentRemoved', 'All content successfully removed'],
    ],
    [
      'NamespaceFinalizersRemaining',
      held !== '',
      ['SomeFinalizersRemain', `Some content in the namespace has finalizers remaining: ${held}`],
      ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    ],
  ];
  return wanted.reduce<corev1.NamespaceCondition[]>(
    (conditions, [type, isBad, bad, fine]) => {
      const [reason, message] = isBad ? bad : fine;
      return setCondition(conditions, { type, status: isBad ? 'True' : 'False', reason, message }, now);
    },
    (known ?? []) as corev1.NamespaceCondition[],
  );
}

function listed(counts: ReadonlyMap<string, number> | undefined, verb: string): string {
  return [...(counts ?? [])]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${verb} ${count} resource instances`)
    .sort()
    .join(', ');
}
