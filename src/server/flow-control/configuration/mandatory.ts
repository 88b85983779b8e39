/** The two levels and schemas without which no request could be placed: where somebody has removed them, they are imagined. */
import type { FlowRule, FlowSchema, PriorityLevel } from './flow-objects.ts';

export const EXEMPT = 'exempt';
export const CATCH_ALL = 'catch-all';

const EVERYTHING: Omit<FlowRule, 'subjects'> = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
  pathRules: [{ verbs: ['*'], urls: ['*'] }],
};

const imagined = { uid: '', lendablePercent: 0, borrowingLimitPercent: undefined } as const;

export const exemptLevel: PriorityLevel = { ...imagined, name: EXEMPT, shares: 0, queuing: { kind: 'exempt' } };
export const catchAllLevel: PriorityLevel = { ...imagined, name: CATCH_ALL, shares: 5, queuing: { kind: 'reject' } };

export const exemptSchema: FlowSchema = {
  name: EXEMPT,
  uid: '',
  precedence: 1,
  levelName: EXEMPT,
  distinguisher: undefined,
  rules: [{ ...EVERYTHING, subjects: [{ kind: 'Group', name: 'system:masters' }] }],
};

export const catchAllSchema: FlowSchema = {
  name: CATCH_ALL,
  uid: '',
  precedence: 10_000,
  levelName: CATCH_ALL,
  distinguisher: 'ByUser',
  rules: [
    {
      ...EVERYTHING,
      subjects: [
        { kind: 'Group', name: 'system:unauthenticated' },
        { kind: 'Group', name: 'system:authenticated' },
      ],
    },
  ],
};
