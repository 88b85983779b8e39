/**
 * Both webhook plugins of one server, with the lists of configurations they go by.
 *
 * A configuration is in effect in the turn in which the watch cache learns of it.
 */
import type { Metrics } from '../../metrics/metrics.ts';
import type { OutboundConnections } from '../../outbound/outbound-connections.ts';
import type { ResourceStorages } from '../../storage/resource-storages.ts';
import type { AdmissionPlugin, ConvertObject } from '../admission.ts';
import { EquivalentResources } from '../matching/equivalent-resources.ts';
import { WebhookCaller } from './webhook-caller.ts';
import { WebhookList } from './webhook-list.ts';
import { type JudgeConditions, WebhookMatcher } from './webhook-matcher.ts';
import { webhookMetrics } from './webhook-metrics.ts';
import { mutatingWebhooks, validatingWebhooks } from './webhook-plugins.ts';

export type WebhooksOptions = {
  readonly storages: ResourceStorages;
  readonly connections: OutboundConnections;
  readonly judgeConditions: JudgeConditions;
  readonly convert: ConvertObject;
  readonly metrics?: Metrics;
  readonly log: (line: string) => void;
};

export type Webhooks = {
  readonly plugins: readonly AdmissionPlugin[];
  /** Resolves when all stored configurations are in effect: before that nothing may be let in. */
  ready(signal?: AbortSignal): Promise<void>;
};

const GROUP = 'admissionregistration.k8s.io';
const FILL_MS = 10_000;

export function makeWebhooks(options: WebhooksOptions): Webhooks {
  const { storages, connections, judgeConditions, convert, metrics, log } = options;
  const matcher = new WebhookMatcher({ equivalents: new EquivalentResources(storages.registry), judgeConditions });
  const shared = {
    matcher,
    caller: new WebhookCaller(connections),
    convert,
    ...(metrics && { metrics: webhookMetrics(metrics) }),
  };
  const lists = { mutating: new WebhookList(log), validating: new WebhookList(log) };
  const follow = (plural: string, list: WebhookList) => {
    const { objects } = storages.followedStorageOf(GROUP, plural);
    objects.follow((current, previous) => list.set((current ?? previous)!.name, current?.parse()));
    return objects;
  };
  const followed = [
    follow('mutatingwebhookconfigurations', lists.mutating),
    follow('validatingwebhookconfigurations', lists.validating),
  ];
  return {
    plugins: [
      mutatingWebhooks({ ...shared, webhooks: lists.mutating }),
      validatingWebhooks({ ...shared, webhooks: lists.validating }),
    ],
    ready: async (signal = new AbortController().signal) => {
      for (const objects of followed)
        if (!(await objects.waitFor(1, FILL_MS, signal)))
          throw new Error('Cannot read the webhook configurations: the store does not answer');
    },
  };
}
