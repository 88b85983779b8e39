/** What policies are never asked about: what configures admission itself, and reviews, without which nobody gets in. */
import type { Resource } from '../../registry/resource.ts';

const EXEMPT_GROUP = 'admissionregistration.k8s.io';
const reviews: Readonly<Record<string, readonly string[]>> = {
  'authentication.k8s.io': ['selfsubjectreviews', 'tokenreviews'],
  'authorization.k8s.io': [
    'localsubjectaccessreviews',
    'selfsubjectaccessreviews',
    'selfsubjectrulesreviews',
    'subjectaccessreviews',
  ],
};

export function isJudged({ group, plural }: Pick<Resource, 'group' | 'plural'>): boolean {
  return group !== EXEMPT_GROUP && !(Object.hasOwn(reviews, group) && reviews[group]!.includes(plural));
}
