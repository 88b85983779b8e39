/** Who converts between the versions of a definition: its webhook, if it names one and there is something to convert. */

import type { Metrics } from '../metrics/metrics.ts';
import { readAuthority } from '../outbound/call-target.ts';
import type { OutboundConnections } from '../outbound/outbound-connections.ts';
import type { ConvertObjects } from '../registry/custom-kind.ts';
import { type ConversionObserver, ConversionWebhook, type WebhookConversion } from './conversion-webhook.ts';
import type { Definition } from './definition.ts';

const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function converters(
  connections: OutboundConnections,
  metrics: Metrics,
): (definition: Definition) => ConvertObjects | undefined {
  const requests = metrics.counter(
    'apiserver_conversion_webhook_request_total',
    'Calls of webhooks that convert custom resources, by what came of them',
    ['result', 'failure_type'],
  );
  const seconds = metrics.histogram(
    'apiserver_crd_conversion_webhook_duration_seconds',
    'How long calls of webhooks that convert custom resources took',
    SECONDS,
    ['crd_name', 'from_version', 'to_version', 'succeeded'],
  );
  return ({ spec, metadata }) => {
    const webhook = spec.conversion?.webhook as WebhookConversion | undefined;
    if (spec.conversion?.strategy !== 'Webhook' || !webhook || spec.versions.length < 2) return undefined;
    const observe: ConversionObserver = (from_version, to_version, took, error) => {
      const succeeded = String(error === undefined);
      seconds.labels({ crd_name: metadata.name!, from_version, to_version, succeeded }).observe(took);
      const result = error === undefined ? 'success' : 'failure';
      requests.labels({ result, failure_type: error === undefined ? '' : 'conversion_webhook_call_failure' }).inc();
    };
    const made = new ConversionWebhook(connections, webhook, observe);
    return (objects, apiVersion, signal) => made.convert(objects, apiVersion, signal);
  };
}

/** Whether nobody could ever verify the webhook by it. */
export function hasBadBundle({ spec }: Definition): boolean {
  const { clientConfig } = (spec.conversion?.webhook ?? {}) as Partial<WebhookConversion>;
  if (spec.conversion?.strategy !== 'Webhook' || !clientConfig?.caBundle) return false;
  try {
    readAuthority(clientConfig.caBundle);
    return false;
  } catch {
    return true;
  }
}
