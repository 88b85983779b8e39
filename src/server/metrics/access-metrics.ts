/**
 * Counts who was let in, as kube-apiserver does, with how long it took to find out. What is counted with most requests has
 * its cells from the beginning.
 */
import type { AccessObserver } from '../request/access-observer.ts';
import type { LabelledCounter, LabelledHistogram } from './labelled.ts';
import type { Metrics } from './metrics.ts';

/** From a millisecond to 16 seconds, each twice the one before. */
const BUCKETS = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

export function accessMetrics(metrics: Metrics): AccessObserver {
  const authentication = counted(
    metrics.counter('authentication_attempts', 'Counter of authenticated attempts.', ['result']),
    metrics.histogram(
      'authentication_duration_seconds',
      'Authentication duration in seconds broken out by result.',
      BUCKETS,
      ['result'],
    ),
    'success',
  );
  const authorization = counted(
    metrics.counter(
      'authorization_attempts_total',
      "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'.",
      ['result'],
    ),
    metrics.histogram(
      'authorization_duration_seconds',
      'Authorization duration in seconds broken out by result.',
      BUCKETS,
      ['result'],
    ),
    'allowed',
  );
  return { authenticated: authentication, authorized: authorization };
}

function counted(
  attempts: LabelledCounter<'result'>,
  durations: LabelledHistogram<'result'>,
  usual: string,
): (result: string, seconds: number) => void {
  const often = attempts.labels({ result: usual });
  const oftenSeconds = durations.labels({ result: usual });
  return (result, seconds) => {
    if (result === usual) {
      often.inc();
      oftenSeconds.observe(seconds);
      return;
    }
    attempts.inc({ result });
    durations.labels({ result }).observe(seconds);
  };
}
