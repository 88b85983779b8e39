/**
 * Whether a webhook is to be called about a request, and in which version of its resource: by rules, by rules of equivalent
 * resources, by labels of the object and of the namespace, by conditions. All must hold, so the cheapest is asked first.
 *
 * What cannot be found out (a namespace that is not there) counts only if the rules match. A condition that cannot be
 * evaluated refuses the request, or skips the webhook if that fails open; one that is false skips it in any case.
 */
import { performance } from 'node:perf_hooks';
import { forbidden, notFound } from '../../../api/index.ts';
import { whenThere } from '../../event-loop/when-there.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { EquivalentResources } from '../matching/equivalent-resources.ts';
import { type RuledRequest, ruleMatches } from '../matching/resource-rules.ts';
import type { Invocation, Versioned, VersionedRequest } from './versioned-request.ts';
import type { MatchCondition, Webhook } from './webhook.ts';
import type { WebhookObserver } from './webhook-metrics.ts';

/** What conditions come to: those that are false decide before those that fail. */
export type ConditionsVerdict = { readonly isMatch: boolean; readonly error?: string };

export type JudgeConditions = (
  conditions: readonly MatchCondition[],
  attributes: AdmissionAttributes,
  invocation: Invocation,
  objects: Pick<Versioned, 'object' | 'oldObject'>,
) => ConditionsVerdict | Promise<ConditionsVerdict>;

export type MatcherParts = {
  readonly equivalents: EquivalentResources;
  readonly judgeConditions: JudgeConditions;
};

const NAMESPACES = { group: '', plural: 'namespaces' };

export class WebhookMatcher {
  readonly #parts: MatcherParts;

  constructor(parts: MatcherParts) {
    this.#parts = parts;
  }

  /** Undefined: it is not called. Told at once where nobody has to be asked. */
  invocation(
    webhook: Webhook,
    request: VersionedRequest,
    observer: WebhookObserver,
  ): Invocation | undefined | Promise<Invocation | undefined> {
    const { attributes } = request;
    const invocation = this.#byRules(webhook, request);
    if (!invocation) return undefined;
    if (!objectMatches(webhook, attributes)) return undefined;
    return whenThere(namespaceMatches(webhook, attributes), (isMatch) => {
      if (!isMatch) return undefined;
      return webhook.matchConditions.length === 0
        ? invocation
        : this.#byConditions(webhook, request, invocation, observer);
    });
  }

  async #byConditions(
    webhook: Webhook,
    request: VersionedRequest,
    invocation: Invocation,
    observer: WebhookObserver,
  ): Promise<Invocation | undefined> {
    const { attributes } = request;
    const { matchConditions, failsOpen } = webhook;
    const began = performance.now();
    const objects = await request.in(invocation);
    const { isMatch, error } = await this.#parts.judgeConditions(matchConditions, attributes, invocation, objects);
    const outcome = error !== undefined ? 'error' : isMatch ? 'match' : 'excluded';
    observer.judged(webhook.name, attributes.operation, (performance.now() - began) / 1000, outcome);
    if (error === undefined) return isMatch ? invocation : undefined;
    if (failsOpen) return undefined;
    throw forbidden(attributes.resource, attributes.name, error);
  }

  #byRules({ rules, isEquivalent }: Webhook, request: VersionedRequest): Invocation | undefined {
    const { operation, resource, subresource, namespace } = request.attributes;
    const { group, version, plural } = resource;
    const asked: RuledRequest = { operation, group, version, resource: plural, subresource, namespace };
    if (rules.some((rule) => ruleMatches(rule, asked))) return request.invocation;
    if (!isEquivalent) return undefined;
    const others = this.#parts.equivalents.of(resource, subresource);
    for (const rule of rules)
      for (const other of others)
        if (ruleMatches(rule, { ...asked, group: other.group, version: other.version, resource: other.plural }))
          return request.invocationOf(other);
    return undefined;
  }
}

function namespaceMatches({ namespaceSelector }: Webhook, attributes: AdmissionAttributes): boolean | Promise<boolean> {
  const { resource, subresource, operation, object, namespace, context } = attributes;
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  if (namespace === '' && !isNamespace) return true;
  if (namespaceSelector.requirements.length === 0) return true;
  // A namespace that is being written is judged by what it will be.
  if (isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'))
    return namespaceSelector.matches(object?.metadata.labels);
  return whenThere(context.known('', 'namespaces', '', namespace), (found) => {
    if (!found) throw notFound(NAMESPACES, namespace);
    return namespaceSelector.matches(found.metadata.labels);
  });
}

function objectMatches({ objectSelector }: Webhook, { object, oldObject }: AdmissionAttributes): boolean {
  if (objectSelector.requirements.length === 0) return true;
  return [object, oldObject].some((one) => one !== undefined && objectSelector.matches(one.metadata?.labels));
}
