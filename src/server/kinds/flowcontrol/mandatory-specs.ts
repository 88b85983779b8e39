/**
 * The two flow schemas and the two priority levels without which a request could have no place: whoever writes them may
 * say of them only what they are. Of the level without limits the shares that it lends may change.
 */
import { type FieldError, invalidValue, type JsonObject } from '../../../api/index.ts';
import { sameValue } from '../../strategy/validation/fields.ts';

const EXEMPT = 'exempt';
const CATCH_ALL = 'catch-all';

const groups = (...names: readonly string[]): JsonObject[] => names.map((name) => ({ kind: 'Group', group: { name } }));
const anything = (subjects: JsonObject[]): JsonObject => ({
  subjects,
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
});

const schemas: ReadonlyMap<string, JsonObject> = new Map([
  [
    EXEMPT,
    {
      priorityLevelConfiguration: { name: EXEMPT },
      matchingPrecedence: 1,
      rules: [anything(groups('system:masters'))],
    },
  ],
  [
    CATCH_ALL,
    {
      priorityLevelConfiguration: { name: CATCH_ALL },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: [anything(groups('system:unauthenticated', 'system:authenticated'))],
    },
  ],
]);
const levels: ReadonlyMap<string, JsonObject> = new Map([
  [EXEMPT, { type: 'Exempt' }],
  [
    CATCH_ALL,
    {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
    },
  ],
]);

export function checkMandatorySchema(name: string, spec: JsonObject): FieldError[] {
  const wanted = schemas.get(name);
  return !wanted || sameValue(spec, wanted)
    ? []
    : [invalidValue('spec', spec, `spec of '${name}' must equal the fixed value`)];
}

export function checkMandatoryLevel(name: string, spec: JsonObject): FieldError[] {
  const wanted = levels.get(name);
  if (!wanted) return [];
  if (name !== EXEMPT)
    return sameValue(spec, wanted) ? [] : [invalidValue('spec', spec, `spec of '${name}' must equal the fixed value`)];
  const why = `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`;
  return sameValue({ ...spec, exempt: null }, wanted) ? [] : [invalidValue('spec', spec, why)];
}
