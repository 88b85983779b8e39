/**
 * Webhooks of admission as objects: what they say if their writer does not, and what is refused. What older objects
 * were allowed to say stays allowed when they are changed elsewhere.
 */
import { hasGivenEmpty } from '../../../api/given-empty.ts';
import {
  checkDns1035Label,
  checkDnsSubdomain,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf, mostFaults } from '../../strategy/validation/append-all.ts';
import { labelSelector, oneOf } from '../../strategy/validation/checks.ts';
import { type CheckRow, checksFrom, type DefaultRow, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { numberAt, objectAt, objectsAt, sameValue, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { checkWebhookClient } from '../../strategy/webhook-client.ts';
import { checkMatchConditions } from './match-conditions.ts';
import { checkRule } from './resource-rules.ts';
import { staticNameWarnings } from './static-names.ts';

const defaults: DefaultRow[] = [
  ['webhooks[].failurePolicy?', 'Fail'],
  ['webhooks[].matchPolicy?', 'Equivalent'],
  ['webhooks[].namespaceSelector', {}],
  ['webhooks[].objectSelector', {}],
  ['webhooks[].timeoutSeconds', 10],
  ['webhooks[].rules[].scope?', '*'],
  ['webhooks[].clientConfig.service.port', 443],
];
const rows: CheckRow[] = [
  ['webhooks[].failurePolicy', oneOf('Fail', 'Ignore')],
  ['webhooks[].matchPolicy', oneOf('Equivalent', 'Exact')],
  ['webhooks[].namespaceSelector', labelSelector],
  ['webhooks[].objectSelector', labelSelector],
  ['webhooks[].reinvocationPolicy', oneOf('IfNeeded', 'Never')],
];
const checkRows = checksFrom(rows);

export const validatingWebhookStrategy: Strategy = {
  setDefaults: defaultsFrom(defaults),
  validate: validateWebhooks,
  warnings: staticNameWarnings,
  isRenewed,
};
export const mutatingWebhookStrategy: Strategy = {
  setDefaults: defaultsFrom([...defaults, ['webhooks[].reinvocationPolicy?', 'Never']]),
  validate: validateWebhooks,
  warnings: staticNameWarnings,
  isRenewed,
};

/** kube-apiserver takes an empty list for another one than none: what is stored has none. */
function isRenewed(object: KubeObject): boolean {
  return hasGivenEmpty((object as JsonObject).webhooks);
}

const QUIET = ['None', 'NoneOnDryRun'];
const SIDE_EFFECTS = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];
const REVIEWS = ['v1', 'v1beta1'];
const reviewList = REVIEWS.join(', ');

/** What is asked of these, given those that they take the place of. */
type Wants = { quiet: boolean; knownReview: boolean; uniqueNames: boolean; conditions: boolean };

function wantsOf(webhooks: readonly JsonObject[], old: readonly JsonObject[] | undefined): Wants {
  if (!old) return { quiet: true, knownReview: true, uniqueNames: true, conditions: true };
  const reviews = old.map((webhook) => textsAt(webhook, 'admissionReviewVersions'));
  return {
    quiet: old.every((webhook) => QUIET.includes(textAt(webhook, 'sideEffects'))),
    knownReview: reviews.every((versions) => versions.length === 0 || versions.some((one) => REVIEWS.includes(one))),
    uniqueNames: new Set(old.map(({ name }) => name)).size === old.length,
    conditions:
      old.length !== webhooks.length ||
      old.some(({ matchConditions }, index) => !sameValue(matchConditions, webhooks[index]!.matchConditions)),
  };
}

async function validateWebhooks(object: KubeObject, old?: KubeObject): Promise<FieldError[]> {
  const webhooks = objectsAt(object as JsonObject, 'webhooks');
  const wants = wantsOf(webhooks, old && objectsAt(old as JsonObject, 'webhooks'));
  const names = new Set<string>();
  const slices = new WorkSlices();
  const errors: FieldError[] = [];
  for (const [index, webhook] of webhooks.entries()) {
    const at = `webhooks[${index}]`;
    const name = textAt(webhook, 'name');
    appendAll(errors, validateWebhook(webhook ?? {}, at, wants));
    const conditions = wants.conditions ? objectsAt(webhook, 'matchConditions') : [];
    appendAll(errors, await checkMatchConditions(conditions, `${at}.matchConditions`, false, slices));
    if (wants.uniqueNames && name !== '' && names.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    names.add(name);
    if (slices.isOver) await slices.pause();
  }
  return [...errors, ...checkRows(object)];
}

function validateWebhook(webhook: JsonObject, path: string, wants: Wants): FieldError[] {
  const errors = checkName(textAt(webhook, 'name'), `${path}.name`);
  for (const [index, rule] of objectsAt(webhook, 'rules').entries()) {
    appendAll(errors, checkRule(rule ?? {}, `${path}.rules[${index}]`));
    if (errors.length > mostFaults) break;
  }
  const allowed = wants.quiet ? QUIET : SIDE_EFFECTS;
  const effect = webhook.sideEffects;
  if (typeof effect !== 'string')
    errors.push(requiredValue(`${path}.sideEffects`, `must specify one of ${allowed.join(', ')}`));
  else if (!allowed.includes(effect)) errors.push(unsupportedValue(`${path}.sideEffects`, effect, allowed));
  const timeout = numberAt(webhook, 'timeoutSeconds') ?? 10;
  if (timeout < 1 || timeout > 30)
    errors.push(invalidValue(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'));
  appendAll(errors, checkWebhookClient(objectAt(webhook, 'clientConfig'), `${path}.clientConfig`));
  return [...errors, ...checkReviews(webhook, `${path}.admissionReviewVersions`, wants.knownReview)];
}

function checkName(name: string, path: string): FieldError[] {
  if (name === '') return [requiredValue(path)];
  const problems = checkDnsSubdomain(name);
  if (problems.length > 0) return [invalidValue(path, name, problems.join(','))];
  if (name.split('.').length >= 3) return [];
  return [invalidValue(path, name, 'should be a domain with at least three segments separated by dots')];
}

function checkReviews(webhook: JsonObject, path: string, wantsKnown: boolean): FieldError[] {
  const versions = textsAt(webhook, 'admissionReviewVersions').map((version) => version ?? '');
  if (versions.length === 0) return [requiredValue(path, `must specify one of ${reviewList}`)];
  const seen = new Set<string>();
  const errors = faultsOf(versions, (version, index) => {
    const at = `${path}[${index}]`;
    if (seen.has(version)) return [invalidValue(at, version, 'duplicate version')];
    seen.add(version);
    return checkDns1035Label(version).map((problem) => invalidValue(at, version, problem));
  });
  if (wantsKnown && !versions.some((version) => REVIEWS.includes(version)))
    errors.push(invalidValue(path, versions, `must include at least one of ${reviewList}`));
  return errors;
}
