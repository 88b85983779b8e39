/**
 * Requests for certificates: who asks is written down by the server, whatever the request says, and what was asked for
 * stays. Whether it is granted is a condition that only `approval` sets and nobody takes back; the certificate comes by
 * `status`.
 */
import {
  type FieldError,
  forbiddenValue,
  invalid,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../api/index.ts';
import { atLeast, required } from './engine/checks.ts';
import { checksFrom } from './engine/field-table.ts';
import { ensureObject, objectAt, objectsAt, sameValue, textAt } from './engine/fields.ts';
import type { KindRules, RuleContext } from './kind-rules.ts';

const VERDICTS = ['Approved', 'Denied'];
const LASTING = [...VERDICTS, 'Failed'];
const IDENTITY = ['username', 'uid', 'groups', 'extra'] as const;

const checkSpec = checksFrom([
  ['spec.request', required],
  ['spec.usages', required],
  ['spec.signerName', required],
  ['spec.expirationSeconds', atLeast(600)],
]);

export const certificateRequestRules: KindRules = {
  prepareCreate: (request, { user }) => {
    const spec = ensureObject(request as JsonObject, 'spec');
    for (const field of IDENTITY) delete spec[field];
    if (!user) return;
    const { username, uid, groups, extra } = user;
    spec.username = username;
    if (uid) spec.uid = uid;
    spec.groups = [...groups];
    if (extra) spec.extra = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
  },
  prepareUpdate: (request, old, context) => {
    if (old.spec === undefined) delete request.spec;
    else request.spec = structuredClone(old.spec);
    if (context.subresource === 'approval') keepAllButConditions(request, old);
    if (context.subresource === 'status') refuseVerdicts(request, old);
    if (context.subresource !== '') dateConditions(request, old, context);
  },
  validate: (request) => [...checkSpec(request), ...conditionsOf(request).flatMap(checkCondition)],
  validateUpdate: (request, old) =>
    LASTING.filter((type) => ofType(request, type).length < ofType(old, type).length).map((type) =>
      forbiddenValue('status.conditions', `updates may not remove a condition of type "${type}"`),
    ),
};

function keepAllButConditions(request: KubeObject, old: KubeObject): void {
  const conditions = objectAt(request as JsonObject, 'status')?.conditions;
  request.status = structuredClone(objectAt(old as JsonObject, 'status') ?? {});
  const status = request.status as JsonObject;
  if (conditions === undefined) delete status.conditions;
  else status.conditions = conditions;
}

/** What is taken back is refused with all updates. */
function refuseVerdicts(request: KubeObject, old: KubeObject): void {
  const faults: FieldError[] = [];
  for (const type of VERDICTS) {
    const [now, before] = [ofType(request, type), ofType(old, type)];
    const refuse = (what: string) =>
      faults.push(forbiddenValue('status.conditions', `updates may not ${what} a condition of type "${type}"`));
    if (now.length > before.length) refuse('add');
    else if (now.length === before.length && !sameValue(now, before)) refuse('modify');
  }
  const what = { kind: request.kind, group: 'certificates.k8s.io' };
  if (faults.length > 0) throw invalid(what, request.metadata.name ?? '', faults);
}

function dateConditions(request: KubeObject, old: KubeObject, { now }: RuleContext): void {
  for (const condition of conditionsOf(request)) {
    condition.lastUpdateTime ??= now;
    if (condition.lastTransitionTime) continue;
    const same = ofType(old, textAt(condition, 'type')).find(({ status }) => status === condition.status);
    condition.lastTransitionTime = (same?.lastTransitionTime as JsonValue | undefined) ?? now;
  }
}

function checkCondition(condition: JsonObject, index: number): FieldError[] {
  const path = `status.conditions[${index}]`;
  const type = textAt(condition, 'type');
  const status = textAt(condition, 'status');
  const supported = LASTING.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
  const errors = type === '' ? [requiredValue(`${path}.type`)] : [];
  if (status === '') errors.push(requiredValue(`${path}.status`));
  else if (!supported.includes(status)) errors.push(unsupportedValue(`${path}.status`, status, supported));
  return errors;
}

function conditionsOf(request: KubeObject): readonly JsonObject[] {
  return objectsAt(objectAt(request as JsonObject, 'status'), 'conditions');
}

function ofType(request: KubeObject, type: string): JsonObject[] {
  return conditionsOf(request).filter((condition) => condition.type === type);
}
