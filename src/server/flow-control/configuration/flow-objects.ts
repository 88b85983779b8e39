/**
 * FlowSchemas and PriorityLevelConfigurations as flow control needs them, read from the objects people write.
 *
 * Always true of what comes out: counts are whole and in range, lists are lists. An object that cannot be read so is
 * broken, and is treated as if it were not there; it never stops others.
 */
import type { JsonObject, JsonValue, KubeObject } from '../../../api/index.ts';
import type { QueueConfig } from '../fair-queuing/queue-set.ts';

export const FLOW_CONTROL_GROUP = 'flowcontrol.apiserver.k8s.io';

export type FlowSubject =
  | { readonly kind: 'User' | 'Group'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string };

export type ResourceRule = {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  readonly clusterScope: boolean;
};

export type PathRule = { readonly verbs: readonly string[]; readonly urls: readonly string[] };

export type FlowRule = {
  readonly subjects: readonly FlowSubject[];
  readonly resourceRules: readonly ResourceRule[];
  readonly pathRules: readonly PathRule[];
};

export type Distinguisher = 'ByUser' | 'ByNamespace' | undefined;

export type FlowSchema = {
  readonly name: string;
  readonly uid: string;
  readonly precedence: number;
  readonly levelName: string;
  readonly distinguisher: Distinguisher;
  readonly rules: readonly FlowRule[];
};

export type PriorityLevel = {
  readonly name: string;
  readonly uid: string;
  readonly shares: number;
  readonly lendablePercent: number;
  readonly borrowingLimitPercent: number | undefined;
  readonly queuing: QueueConfig;
};

export function readFlowSchema({ metadata, spec }: KubeObject): FlowSchema | undefined {
  const { name = '', uid = '' } = metadata;
  const fields = objectOf(spec as JsonValue | undefined);
  const levelName = textOf(objectOf(fields.priorityLevelConfiguration).name);
  if (levelName === '') return undefined;
  const by = objectOf(fields.distinguisherMethod).type;
  return {
    name,
    uid,
    levelName,
    precedence: countOf(fields.matchingPrecedence, 1000),
    distinguisher: by === 'ByUser' || by === 'ByNamespace' ? by : undefined,
    rules: listOf(fields.rules).map(readRule),
  };
}

export function readPriorityLevel({ metadata, spec }: KubeObject): PriorityLevel | undefined {
  const { name = '', uid = '' } = metadata;
  const { type, limited, exempt } = objectOf(spec as JsonValue | undefined);
  if (type === 'Exempt') {
    const fields = objectOf(exempt);
    const shares = countOf(fields.nominalConcurrencyShares, 0);
    const lendablePercent = percentOf(fields.lendablePercent);
    return { name, uid, shares, lendablePercent, borrowingLimitPercent: undefined, queuing: { kind: 'exempt' } };
  }
  if (type !== 'Limited') return undefined;
  const fields = objectOf(limited);
  const borrowing = fields.borrowingLimitPercent;
  return {
    name,
    uid,
    shares: countOf(fields.nominalConcurrencyShares, 30),
    lendablePercent: percentOf(fields.lendablePercent),
    borrowingLimitPercent: typeof borrowing === 'number' ? countOf(borrowing, 0) : undefined,
    queuing: readQueuing(objectOf(fields.limitResponse)),
  };
}

function readQueuing({ type, queuing }: JsonObject): QueueConfig {
  if (type !== 'Queue') return { kind: 'reject' };
  const fields = objectOf(queuing);
  const queues = Math.max(1, countOf(fields.queues, 64));
  const handSize = Math.min(queues, Math.max(1, countOf(fields.handSize, 8)));
  return { kind: 'queue', queues, handSize, queueLengthLimit: Math.max(1, countOf(fields.queueLengthLimit, 50)) };
}

function readRule(value: JsonValue): FlowRule {
  const { subjects, resourceRules, nonResourceRules } = objectOf(value);
  return {
    subjects: listOf(subjects).map(readSubject).filter(isThere),
    resourceRules: listOf(resourceRules).map((rule) => {
      const { verbs, apiGroups, resources, namespaces, clusterScope } = objectOf(rule);
      return {
        verbs: textsOf(verbs),
        apiGroups: textsOf(apiGroups),
        resources: textsOf(resources),
        namespaces: textsOf(namespaces),
        clusterScope: clusterScope === true,
      };
    }),
    pathRules: listOf(nonResourceRules).map((rule) => {
      const { verbs, nonResourceURLs } = objectOf(rule);
      return { verbs: textsOf(verbs), urls: textsOf(nonResourceURLs) };
    }),
  };
}

function readSubject(value: JsonValue): FlowSubject | undefined {
  const { kind, user, group, serviceAccount } = objectOf(value);
  switch (kind) {
    case 'User':
      return { kind, name: textOf(objectOf(user).name) };
    case 'Group':
      return { kind, name: textOf(objectOf(group).name) };
    case 'ServiceAccount': {
      const { namespace, name } = objectOf(serviceAccount);
      return { kind, namespace: textOf(namespace), name: textOf(name) };
    }
    default:
      return undefined;
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return listOf(value).filter((text) => typeof text === 'string');
}

/** From 0 up, as far as a 32-bit integer goes. */
function countOf(value: JsonValue | undefined, absent: number): number {
  return typeof value === 'number' ? Math.min(2 ** 31 - 1, Math.max(0, Math.trunc(value))) : absent;
}

function percentOf(value: JsonValue | undefined): number {
  return Math.min(100, countOf(value, 0));
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}
