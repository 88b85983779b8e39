/**
 * Requests for certificates: who asks is written down by the server, whatever the request says, and what was asked for
 * stays. Whether it is granted is a condition that only `approval` sets and nobody takes back; the certificate comes by
 * `status`.
 */

import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import type { Strategy, StrategyContext } from '../../strategy/strategy.ts';
import { faultsOf } from '../../strategy/validation/append-all.ts';
import { ensureObject, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { checkCertificate, checkCertificateSpec } from './certificate-spec.ts';

const VERDICTS = ['Approved', 'Denied'];
const LASTING = [...VERDICTS, 'Failed'];
const IDENTITY = ['username', 'uid', 'groups', 'extra'] as const;

export const certificateRequestStrategy: Strategy = {
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
    if (context.subresource === 'status') keepVerdicts(request, old);
    if (context.subresource !== '') dateConditions(request, old, context);
  },
  validate: (request, old) => {
    const certificate = certificateOf(request);
    const isNew = certificate !== (old ? certificateOf(old) : '');
    return [
      // What was asked for was judged when it was asked, and stays.
      ...(old ? [] : checkCertificateSpec(objectAt(request as JsonObject, 'spec') ?? {})),
      ...faultsOf(conditionsOf(request), checkCondition),
      ...checkTypes(request, old),
      ...(isNew ? checkCertificate(certificate, 'status.certificate') : []),
    ];
  },
  validateUpdate: (request, old, context) => [
    ...LASTING.filter((type) => ofType(request, type).length < ofType(old, type).length).map((type) =>
      forbiddenValue('status.conditions', `updates may not remove a condition of type "${type}"`),
    ),
    ...(context?.subresource === 'status' ? checkIssued(request, old) : []),
  ],
};

function keepAllButConditions(request: KubeObject, old: KubeObject): void {
  const conditions = objectAt(request as JsonObject, 'status')?.conditions;
  request.status = structuredClone(objectAt(old as JsonObject, 'status') ?? {});
  const status = request.status as JsonObject;
  if (conditions === undefined) delete status.conditions;
  else status.conditions = conditions;
}

/** What `approval` said stays as it was, whatever `status` says of it; what is added or left out is refused later. */
function keepVerdicts(request: KubeObject, old: KubeObject): void {
  for (const type of VERDICTS) {
    const [now, before] = [ofType(request, type), ofType(old, type)];
    if (now.length !== before.length) continue;
    const conditions = objectAt(request as JsonObject, 'status')?.conditions as JsonValue[];
    for (const [index, condition] of now.entries())
      conditions[conditions.indexOf(condition)] = structuredClone(before[index]!);
  }
}

/** `status` says no verdict, and the certificate once. */
function checkIssued(request: KubeObject, old: KubeObject): FieldError[] {
  const errors = VERDICTS.filter((type) => ofType(request, type).length > ofType(old, type).length).map((type) =>
    forbiddenValue('status.conditions', `updates may not add a condition of type "${type}"`),
  );
  const [now, before] = [certificateOf(request), certificateOf(old)];
  if (before !== '' && now !== before)
    errors.push(forbiddenValue('status.certificate', 'updates may not modify existing certificate content'));
  return errors;
}

function certificateOf(request: KubeObject): string {
  return textAt(objectAt(request as JsonObject, 'status'), 'certificate');
}

function dateConditions(request: KubeObject, old: KubeObject, { now }: StrategyContext): void {
  for (const condition of conditionsOf(request)) {
    condition.lastUpdateTime ??= now;
    if (condition.lastTransitionTime) continue;
    const same = ofType(old, textAt(condition, 'type')).find(({ status }) => status === condition.status);
    condition.lastTransitionTime = (same?.lastTransitionTime as JsonValue | undefined) ?? now;
  }
}

/** Each type once, and never both verdicts; older requests may have been made before that was asked. */
function checkTypes(request: KubeObject, old: KubeObject | undefined): FieldError[] {
  const types = conditionsOf(request).map((condition) => textAt(condition, 'type'));
  const before = old ? conditionsOf(old).map((condition) => textAt(condition, 'type')) : [];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  if (new Set(before).size === before.length)
    for (const [index, type] of types.entries()) {
      if (seen.has(type)) errors.push(duplicateValue(`status.conditions[${index}].type`, type));
      seen.add(type);
    }
  if (VERDICTS.every((type) => before.includes(type))) return errors;
  const why = 'Approved and Denied conditions are mutually exclusive';
  const verdicts = new Set<string>();
  for (const [index, type] of types.entries()) {
    if (!VERDICTS.includes(type)) continue;
    verdicts.add(type);
    if (verdicts.size > 1) errors.push(invalidValue(`status.conditions[${index}].type`, type, why));
  }
  return errors;
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
