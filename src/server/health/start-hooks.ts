/**
 * What a server has to do once when it starts, as checks of every probe: each fails until its work is done, so that
 * `/readyz?verbose` shows what a start waits for. The names are kube-apiserver's for the same work, in its order; work
 * that is not done here has no check.
 */
import type { Health } from './health.ts';

const HOOKS = [
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
] as const;

export type StartHook = (typeof HOOKS)[number];

export class StartHooks {
  readonly #missing = new Set<StartHook>(HOOKS);

  constructor(health: Health) {
    for (const hook of HOOKS)
      health.addCheck(`poststarthook/${hook}`, () => {
        if (this.#missing.has(hook)) throw new Error('not finished');
      });
  }

  done(...hooks: readonly StartHook[]): void {
    for (const hook of hooks) this.#missing.delete(hook);
  }
}
