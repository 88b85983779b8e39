/**
 * The life of watches and informers as log lines: at 0 what somebody has to look at, at 2 states of informers, at 4
 * watches and lists that begin anew, at 6 every watch as it opens and ends, with why. The wire is `request-log.ts`.
 *
 * Errors about Secrets are logged by their kind only: the text of a broken answer can be a piece of it.
 */
import type { Logger } from '../../api/index.ts';
import type { Resource } from '../objects/define-resource.ts';
import { resourceName } from '../objects/resource-name.ts';
import type { ClientObserver, ObservedInformer } from './client-observer.ts';
import { errorReason } from './error-reason.ts';
import type { InformerState } from './informer-metrics.ts';
import { holdsSecrets } from './request-info.ts';
import { SafeLogger } from './safe-logger.ts';

export function logObserver(logger: Logger): ClientObserver {
  const log = new SafeLogger(logger);
  const states = new WeakMap<ObservedInformer, InformerState>();
  return {
    onWatchOpen: (resource) => {
      if (log.level < 6) return;
      const name = resourceName(resource);
      log.log(6, `${name}: a watch is open`, { resource: name });
    },
    onReconnect: (resource) => {
      const name = resourceName(resource);
      log.log(4, `${name}: the watch is open again`, { resource: name });
    },
    onWatchEnd: ({ resource, by, error, durationMs }) => {
      if (log.level < (by === 'failure' ? 4 : 6)) return;
      const name = resourceName(resource);
      const ended = `${name}: the watch ended after ${Math.round(durationMs)} ms`;
      if (by !== 'failure') {
        log.log(6, `${ended}: ${ENDS[by]}`, { resource: name, by, durationMs });
        return;
      }
      const text = errorText(resource, error);
      log.log(4, `${ended}: ${text}`, { resource: name, reason: errorReason(error), error: text, durationMs });
    },
    onList: ({ resource, by, durationMs, objects, error }) => {
      if (log.level < 4) return;
      const name = resourceName(resource);
      const took = `by ${by} in ${Math.round(durationMs)} ms`;
      if (error === undefined) {
        log.log(4, `${name}: ${objects} objects came ${took}`, { resource: name, by, durationMs, objects });
        return;
      }
      const text = errorText(resource, error);
      const fields = { resource: name, by, durationMs, reason: errorReason(error), error: text };
      log.log(4, `${name}: the list failed ${took}: ${text}`, fields);
    },
    onInformerState: (informer) => {
      const { state, error, resourceVersion } = informer.freshness;
      if (states.get(informer) === state) return;
      states.set(informer, state);
      const level = state === 'refused' || (state === 'stopped' && error !== undefined) ? 0 : 2;
      if (log.level < level) return;
      const name = resourceName(informer.resource);
      const text = error === undefined ? undefined : errorText(informer.resource, error);
      const fields = {
        resource: name,
        state,
        ...(resourceVersion && { resourceVersion }),
        ...(text && { error: text }),
      };
      log.log(level, `${name}: the informer is ${state}${text ? `: ${text}` : ''}`, fields);
    },
  };
}

const ENDS = { server: 'the server ended it', reader: 'nobody here reads it any more' } as const;

function errorText({ plural }: Resource, error: unknown): string {
  if (holdsSecrets(plural)) return errorReason(error);
  return error instanceof Error ? error.message : String(error);
}
