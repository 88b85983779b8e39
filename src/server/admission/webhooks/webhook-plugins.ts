/**
 * Webhooks as admission plugins: mutating ones one after the other, each seeing what those before it made of the object;
 * validating ones all at once, the first refusal to arrive being told when all have answered.
 *
 * Where there are no webhooks, nothing is done and nothing is waited for. Webhook configurations and admission policies
 * are never sent, so that a webhook cannot keep itself from being changed.
 */
import { performance } from 'node:perf_hooks';
import { badRequest, internalError, isStatusError, type JsonObject } from '../../../api/index.ts';
import { cloneJson, jsonEqual } from '../../codec/index.ts';
import { parseJson } from '../../codec/json/json-reader.ts';
import type { AdmissionAttributes, AdmissionPlugin, ConvertObject } from '../admission.ts';
import { withItsType } from '../changed-type.ts';
import { type Invocation, VersionedRequest } from './versioned-request.ts';
import type { Webhook } from './webhook.ts';
import type { WebhookCaller } from './webhook-caller.ts';
import { callFailed, WebhookCallError } from './webhook-errors.ts';
import type { WebhookList } from './webhook-list.ts';
import type { WebhookMatcher } from './webhook-matcher.ts';
import { silentObserver, type WebhookMetrics, type WebhookObserver } from './webhook-metrics.ts';
import { applyPatch, readPatch } from './webhook-patch.ts';

export type WebhookParts = {
  readonly webhooks: WebhookList;
  readonly matcher: WebhookMatcher;
  readonly caller: WebhookCaller;
  readonly convert: ConvertObject;
  readonly metrics?: WebhookMetrics;
};

const EXEMPT_GROUP = 'admissionregistration.k8s.io';
const MUTATING = 'MutatingAdmissionWebhook';
const VALIDATING = 'ValidatingAdmissionWebhook';

function isSent({ group }: { readonly group: string }): boolean {
  return group !== EXEMPT_GROUP;
}

export function mutatingWebhooks(parts: WebhookParts): AdmissionPlugin {
  const observer = parts.metrics?.of('admit') ?? silentObserver;
  return {
    name: MUTATING,
    handles: (_operation, resource) => isSent(resource),
    admit: (a) => (parts.webhooks.all.length === 0 ? undefined : admit(parts, observer, a)),
  };
}

export function validatingWebhooks(parts: WebhookParts): AdmissionPlugin {
  const observer = parts.metrics?.of('validating') ?? silentObserver;
  return {
    name: VALIDATING,
    handles: (_operation, resource) => isSent(resource),
    validate: (a) => (parts.webhooks.all.length === 0 ? undefined : validate(parts, observer, a)),
  };
}

/** What is kept between the two runs of the mutating phase. */
type Rounds = {
  /** Reinvocable webhooks that were called, until something changes the object. */
  readonly called: Set<string>;
  /** Those of them after which something did. */
  readonly due: Set<string>;
  /** The object as the webhooks left it. */
  left: JsonObject | undefined;
};

function roundsOf({ reinvocation }: AdmissionAttributes): Rounds {
  let rounds = reinvocation.notes.get(MUTATING) as Rounds | undefined;
  if (!rounds) {
    rounds = { called: new Set(), due: new Set(), left: undefined };
    reinvocation.notes.set(MUTATING, rounds);
  }
  return rounds;
}

function objectChanged(rounds: Rounds): void {
  for (const id of rounds.called) rounds.due.add(id);
  rounds.called.clear();
}

async function admit(parts: WebhookParts, observer: WebhookObserver, a: AdmissionAttributes): Promise<void> {
  const rounds = roundsOf(a);
  const { isSecondRun } = a.reinvocation;
  if (isSecondRun && !jsonEqual(rounds.left, a.object as unknown as JsonObject)) objectChanged(rounds);
  const request = new VersionedRequest(a, parts.convert);
  const { all } = parts.webhooks;
  for (let index = 0; index < all.length; index++) {
    const webhook = all[index]!;
    const found = parts.matcher.invocation(webhook, request, observer);
    const invocation = found instanceof Promise ? await found : found;
    if (!invocation || (isSecondRun && !rounds.due.has(webhook.id))) continue;
    const place = `round_${isSecondRun ? 1 : 0}_index_${index}`;
    let isChanged = false;
    const tell = () =>
      a.annotate(
        `mutation.webhook.admission.k8s.io/${place}`,
        JSON.stringify({ configuration: webhook.configuration, webhook: webhook.name, mutated: isChanged }),
      );
    try {
      isChanged = await observed(webhook, a, observer, () => mutate(parts.caller, webhook, invocation, request));
    } catch (err) {
      tell();
      if (!passes(webhook, err)) throw asRefusal(err);
      a.annotate(`failed-open.mutation.webhook.admission.k8s.io/${place}`, webhook.name);
      continue;
    }
    tell();
    if (isChanged) {
      objectChanged(rounds);
      a.reinvocation.want();
    }
    if (webhook.isReinvocable) rounds.called.add(webhook.id);
  }
  // Whoever is never called again need not know what it left.
  if (rounds.called.size + rounds.due.size > 0) rounds.left = cloneJson(a.object) as unknown as JsonObject;
}

/** Whether it changed the object. */
async function mutate(
  caller: WebhookCaller,
  webhook: Webhook,
  invocation: Invocation,
  request: VersionedRequest,
): Promise<boolean> {
  const { patch: bytes, patchType } = await caller.call(webhook, invocation, request, true);
  if (bytes.length === 0) return false;
  const patch = patchOf(webhook, bytes);
  if (patch.length === 0) return false;
  const { objectText } = await request.in(invocation);
  if (!request.attributes.object) {
    const why = `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`;
    throw internalError(why);
  }
  if (patchType !== 'JSONPatch')
    throw new WebhookCallError(webhook.name, `unsupported patch type ${JSON.stringify(patchType)}`, 500);
  const sent = parseJson(objectText) as JsonObject;
  const patched = withItsType(applyPatch(sent, patch), invocation);
  if (jsonEqual(sent, patched)) return false;
  mustStayInPlace(request.attributes, patched);
  try {
    await request.replace(patched, invocation);
  } catch (err) {
    request.attributes.notice.throwIfAborted();
    if (isStatusError(err) && err.code === 500) throw err;
    throw internalError((err as Error).message, { cause: err });
  }
  return true;
}

/** On create it may get another name, never another namespace. */
function mustStayInPlace({ resource, namespace }: AdmissionAttributes, patched: JsonObject): void {
  const { namespace: given } = (patched.metadata ?? {}) as { namespace?: unknown };
  if (resource.isNamespaced && given && given !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

function patchOf({ name }: Webhook, bytes: Buffer) {
  try {
    return readPatch(bytes);
  } catch (err) {
    const why = `received undecodable patch in webhook response: ${(err as Error).message}`;
    throw new WebhookCallError(name, why, 500, { cause: err });
  }
}

/** A webhook that is to be called, by its place in the list. */
type Due = { readonly webhook: Webhook; readonly index: number; readonly invocation: Invocation };

async function validate(parts: WebhookParts, observer: WebhookObserver, a: AdmissionAttributes): Promise<void> {
  const request = new VersionedRequest(a, parts.convert);
  const { all } = parts.webhooks;
  let refusal: { readonly err: unknown } | undefined;
  const due: Due[] = [];
  for (let index = 0; index < all.length; index++) {
    const webhook = all[index]!;
    const found = parts.matcher.invocation(webhook, request, observer);
    const invocation = found instanceof Promise ? await found : found;
    if (invocation) due.push({ webhook, index, invocation });
  }
  const call = async ({ webhook, index, invocation }: Due) => {
    try {
      await observed(webhook, a, observer, () => parts.caller.call(webhook, invocation, request, false));
    } catch (err) {
      if (passes(webhook, err))
        a.annotate(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, webhook.name);
      else refusal ??= { err };
    }
  };
  await (due.length === 1 ? call(due[0]!) : Promise.all(due.map(call)));
  if (refusal) throw asRefusal(refusal.err);
}

async function observed<T>(
  { name, failsOpen }: Webhook,
  { operation }: AdmissionAttributes,
  observer: WebhookObserver,
  call: () => Promise<T>,
): Promise<T> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  try {
    const result = await call();
    observer.called(name, operation, seconds(), undefined, false);
    return result;
  } catch (err) {
    observer.called(name, operation, seconds(), err, failsOpen && err instanceof WebhookCallError);
    throw err;
  }
}

function passes({ failsOpen }: Webhook, err: unknown): boolean {
  return failsOpen && err instanceof WebhookCallError;
}

function asRefusal(err: unknown): unknown {
  return err instanceof WebhookCallError && !isStatusError(err) ? callFailed(err) : err;
}
