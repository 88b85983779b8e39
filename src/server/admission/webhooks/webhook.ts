/**
 * One webhook of a configuration, read once: whom to call, for what, and what becomes of the request if that fails.
 *
 * Configurations are validated and defaulted when they are written, so what is read here is taken at its word. What cannot
 * be read all the same (a selector or a bundle of an older server) is told when the webhook is called.
 */
import {
  type JsonObject,
  type KubeObject,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFromObject,
} from '../../../api/index.ts';
import { type CallTarget, type ClientConfig, callTarget } from '../../outbound/call-target.ts';
import type { ResourceRule } from '../matching/resource-rules.ts';

export type MatchCondition = { readonly name: string; readonly expression: string };

export type Webhook = {
  readonly configuration: string;
  readonly name: string;
  /** Tells it from all others, also from one of the same name. */
  readonly id: string;
  readonly rules: readonly ResourceRule[];
  readonly isEquivalent: boolean;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
  readonly matchConditions: readonly MatchCondition[];
  /** What goes wrong with the call lets the request pass. */
  readonly failsOpen: boolean;
  readonly timeoutSeconds: number;
  readonly sideEffects: string | undefined;
  /** The first that it and the server know. */
  readonly reviewVersion: ReviewVersion | undefined;
  readonly isReinvocable: boolean;
  /** Made with the first call; throws where the configuration cannot be followed. */
  readonly target: () => CallTarget;
};

export type ReviewVersion = 'v1' | 'v1beta1';

const KNOWN_VERSIONS: readonly string[] = ['v1', 'v1beta1'];
const DEFAULT_TIMEOUT_SECONDS = 10;

type WebhookObject = JsonObject & {
  readonly name: string;
  readonly clientConfig: ClientConfig;
  readonly rules?: readonly ResourceRule[];
  readonly failurePolicy?: string;
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelectorObject;
  readonly objectSelector?: LabelSelectorObject;
  readonly matchConditions?: readonly MatchCondition[];
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
  readonly reinvocationPolicy?: string;
};

/** In the order of the list. */
export function webhooksOf(configuration: KubeObject): Webhook[] {
  const { name = '' } = configuration.metadata;
  const webhooks = (configuration as unknown as { webhooks?: readonly WebhookObject[] | null }).webhooks ?? [];
  return webhooks.map((webhook, index) => readWebhook(name, webhook, index));
}

function readWebhook(configuration: string, webhook: WebhookObject, index: number): Webhook {
  let target: CallTarget | undefined;
  return {
    configuration,
    name: webhook.name,
    id: `${configuration}/${webhook.name}/${index}`,
    rules: webhook.rules ?? [],
    isEquivalent: webhook.matchPolicy !== 'Exact',
    namespaceSelector: labelSelectorFromObject(webhook.namespaceSelector ?? {}),
    objectSelector: labelSelectorFromObject(webhook.objectSelector ?? {}),
    matchConditions: webhook.matchConditions ?? [],
    failsOpen: webhook.failurePolicy === 'Ignore',
    timeoutSeconds: webhook.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    sideEffects: webhook.sideEffects,
    reviewVersion: (webhook.admissionReviewVersions ?? []).find((one) => KNOWN_VERSIONS.includes(one)) as
      | ReviewVersion
      | undefined,
    isReinvocable: webhook.reinvocationPolicy === 'IfNeeded',
    target: () => {
      target ??= callTarget(webhook.clientConfig);
      return target;
    },
  };
}
