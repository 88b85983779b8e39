/**
 * What keeps a cluster in order: leases, quotas, limit ranges, aggregated APIs, flow control,
 * revisions. Nearly all of it is rows.
 */
import {
  checkQualifiedName,
  type FieldError,
  invalidValue,
  type JsonObject,
  parseQuantity,
  requiredValue,
} from '../../api/index.ts';
import { atLeast, between, moreThan, oneOf, required } from './engine/checks.ts';
import { checksFrom, defaultsFrom, immutableFields } from './engine/field-table.ts';
import { ensureObject, fill, isEmpty, objectAt, objectsAt, sortedEntries, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

export const leaseRules: KindRules = {
  validate: checksFrom([
    ['spec.leaseDurationSeconds', moreThan(0)],
    ['spec.leaseTransitions', atLeast(0)],
  ]),
};

export const resourceQuotaRules: KindRules = {
  validate: (quota) =>
    sortedEntries(objectAt(objectAt(quota as JsonObject, 'spec'), 'hard')).flatMap(([name, amount]) => {
      const path = `spec.hard[${name}]`;
      const errors = checkQualifiedName(name).map((problem) => invalidValue(path, name, problem));
      if (parseQuantity(String(amount)).sign < 0)
        errors.push(invalidValue(path, amount, 'must be greater than or equal to 0'));
      return errors;
    }),
  validateUpdate: immutableFields(['spec.scopes', 'spec.scopeSelector']),
};

export const limitRangeRules: KindRules = {
  setDefaults: (range) => {
    for (const limit of objectsAt(objectAt(range as JsonObject, 'spec'), 'limits')) {
      if (limit.type !== 'Container') continue;
      const usual = ensureObject(limit, 'default');
      const request = ensureObject(limit, 'defaultRequest');
      fill(usual, objectAt(limit, 'max') ?? {});
      fill(request, usual);
      fill(request, objectAt(limit, 'min') ?? {});
      for (const field of ['default', 'defaultRequest']) if (isEmpty(limit[field])) delete limit[field];
    }
  },
  validate: checksFrom([['spec.limits[].type', required]]),
};

const positiveUpTo = (most: number) => (value: unknown, path: string) =>
  typeof value === 'number' && value > 0 && value <= most
    ? []
    : [invalidValue(path, value ?? 0, `must be positive and less than ${most}`)];

export const apiServiceRules: KindRules = {
  setDefaults: defaultsFrom([['spec.service.port', 443]]),
  prepareCreate: (service, { now }) => {
    const isLocal = !objectAt(objectAt(service as JsonObject, 'spec'), 'service');
    const condition = {
      type: 'Available',
      status: 'True',
      lastTransitionTime: now,
      reason: 'Local',
      message: 'Local APIServices are always available',
    };
    service.status = isLocal ? { conditions: [condition] } : {};
  },
  validate: (service): FieldError[] => {
    const spec = objectAt(service as JsonObject, 'spec');
    const wanted = `${textAt(spec, 'version')}.${textAt(spec, 'group')}`;
    const { name = '' } = service.metadata;
    const isRight = name === wanted || (name === 'v1.' && textAt(spec, 'group') === '');
    const errors = isRight
      ? []
      : [invalidValue('metadata.name', name, `must be \`spec.version+"."+spec.group\`: "${wanted}"`)];
    if (textAt(spec, 'version') === '') errors.push(requiredValue('spec.version'));
    return [...errors, ...checkApiService(service)];
  },
};
const checkApiService = checksFrom([
  ['spec.groupPriorityMinimum', positiveUpTo(20000)],
  ['spec.versionPriority', positiveUpTo(1000)],
]);

export const flowSchemaRules: KindRules = {
  setDefaults: (schema) => {
    const spec = ensureObject(schema as JsonObject, 'spec');
    if (!spec.matchingPrecedence) spec.matchingPrecedence = 1000;
  },
  validate: checksFrom([
    ['spec.priorityLevelConfiguration.name', required],
    ['spec.matchingPrecedence', between(1, 10000)],
    ['spec.distinguisherMethod.type', oneOf('ByNamespace', 'ByUser')],
    ['spec.rules[].subjects', required],
    ['spec.rules[].subjects[].kind', oneOf('Group', 'ServiceAccount', 'User')],
  ]),
};

const isQueue = (response: JsonObject) => response.type === 'Queue';

export const priorityLevelRules: KindRules = {
  setDefaults: defaultsFrom([
    ['spec.limited.nominalConcurrencyShares', 30],
    ['spec.limited.lendablePercent', 0],
    ['spec.limited.limitResponse.queuing', {}, isQueue],
    ['spec.limited.limitResponse.queuing.queues', 64],
    ['spec.limited.limitResponse.queuing.handSize', 8],
    ['spec.limited.limitResponse.queuing.queueLengthLimit', 50],
    ['spec.exempt', {}, (spec) => spec.type === 'Exempt'],
    ['spec.exempt.nominalConcurrencyShares', 0],
    ['spec.exempt.lendablePercent', 0],
  ]),
  validate: checksFrom([
    ['spec.type', required, oneOf('Exempt', 'Limited')],
    ['spec.limited.nominalConcurrencyShares', atLeast(0)],
    ['spec.limited.lendablePercent', between(0, 100)],
    ['spec.limited.limitResponse.type', required, oneOf('Queue', 'Reject')],
    ['spec.limited.limitResponse.queuing.queues', moreThan(0)],
    ['spec.limited.limitResponse.queuing.handSize', moreThan(0)],
    ['spec.limited.limitResponse.queuing.queueLengthLimit', moreThan(0)],
  ]),
};

export const controllerRevisionRules: KindRules = {
  validate: checksFrom([['revision', atLeast(0)]]),
  validateUpdate: immutableFields(['data']),
};
