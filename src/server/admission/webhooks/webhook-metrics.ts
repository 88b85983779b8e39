/** What happened to calls of webhooks, under the names of kube-apiserver. */
import { isStatusError } from '../../../api/index.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { WebhookCallError } from './webhook-errors.ts';

export type WebhookObserver = {
  /** `error` undefined: it let the request pass. */
  called(webhook: string, operation: string, seconds: number, error: unknown, failedOpen: boolean): void;
  /** Its conditions were asked. */
  judged(webhook: string, operation: string, seconds: number, outcome: 'match' | 'excluded' | 'error'): void;
};

const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const MOST_CODE = 600;

const CONDITION_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];

export const silentObserver: WebhookObserver = { called: () => {}, judged: () => {} };

export type WebhookMetrics = { readonly of: (type: 'admit' | 'validating') => WebhookObserver };

export function webhookMetrics(metrics: Metrics): WebhookMetrics {
  const duration = metrics.histogram(
    'apiserver_admission_webhook_admission_duration_seconds',
    'How long calls of admission webhooks took',
    SECONDS,
    ['name', 'type', 'operation', 'rejected'],
  );
  const requests = metrics.counter(
    'apiserver_admission_webhook_request_total',
    'Calls of admission webhooks, by what came of them',
    ['name', 'type', 'operation', 'code', 'rejected'],
  );
  const rejections = metrics.counter(
    'apiserver_admission_webhook_rejection_count',
    'Requests that an admission webhook refused, or that failed with it',
    ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  );
  const failOpen = metrics.counter(
    'apiserver_admission_webhook_fail_open_count',
    'Requests that were let pass although a webhook failed',
    ['name', 'type'],
  );
  const about = ['name', 'kind', 'type', 'operation'] as const;
  const conditionSeconds = metrics.histogram(
    'apiserver_admission_match_condition_evaluation_seconds',
    'How long match conditions took',
    CONDITION_SECONDS,
    about,
  );
  const conditionErrors = metrics.counter(
    'apiserver_admission_match_condition_evaluation_errors_total',
    'Match conditions that could not be evaluated',
    about,
  );
  const exclusions = metrics.counter(
    'apiserver_admission_match_condition_exclusions_total',
    'Requests that match conditions kept from a webhook',
    about,
  );
  return {
    of: (type) => ({
      judged: (name, operation, seconds, outcome) => {
        const labels = { name, kind: 'webhook', type, operation };
        conditionSeconds.labels(labels).observe(seconds);
        if (outcome === 'error') conditionErrors.labels(labels).inc();
        if (outcome === 'excluded') exclusions.labels(labels).inc();
      },
      called: (name, operation, seconds, error, failedOpen) => {
        const isRejected = error !== undefined && !failedOpen;
        const rejected = String(isRejected);
        const code = codeOf(error);
        duration.labels({ name, type, operation, rejected }).observe(seconds);
        requests.labels({ name, type, operation, code: String(code), rejected }).inc();
        if (failedOpen) failOpen.labels({ name, type }).inc();
        if (isRejected) {
          const labels = {
            error_type: errorTypeOf(error),
            rejection_code: String(errorTypeOf(error) === 'apiserver_internal_error' ? 0 : code),
          };
          rejections.labels({ name, type, operation, ...labels }).inc();
        }
      },
    }),
  };
}

function errorTypeOf(error: unknown): string {
  if (error instanceof WebhookCallError) return 'calling_webhook_error';
  return isStatusError(error) && error.code !== 500 ? 'no_error' : 'apiserver_internal_error';
}

function codeOf(error: unknown): number {
  if (error === undefined) return 200;
  if (error instanceof WebhookCallError || isStatusError(error)) return Math.min(error.code, MOST_CODE);
  return 0;
}
