/**
 * ValidatingAdmissionPolicy as an admission plugin. All policies that match are asked; the first refusal of one whose
 * binding denies is the answer, the others warn or are noted for the audit log as their bindings say.
 *
 * Where there are no policies nothing is done and nothing is waited for. What configures admission is never judged, so
 * that no policy can keep itself from being changed; neither are the reviews that the cluster lives by.
 */
import { StatusError } from '../../../../api/index.ts';
import { WorkSlices } from '../../../event-loop/work-slices.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../../admission.ts';
import { RequestValues } from '../../expressions/request-values.ts';
import type { PolicyBinding } from '../policy-binding.ts';
import {
  type DispatchParts,
  type Invocation,
  invocationsOf,
  rightsOf,
  VersionedObjects,
} from '../policy-dispatcher.ts';
import { ConfigurationError } from '../policy-errors.ts';
import { type CheckObserver, silentObserver } from '../policy-metrics.ts';
import { isJudged } from '../policy-scope.ts';
import type { PolicySource } from '../policy-source.ts';
import type { Decision, ValidatingPolicy } from './validating-policy.ts';

const NAME = 'ValidatingAdmissionPolicy';
const FAILURE_KEY = 'validation.policy.admission.k8s.io/validation_failure';

export type ValidatingParts = DispatchParts & {
  readonly policies: PolicySource<ValidatingPolicy>;
  readonly observer?: CheckObserver;
};

export function validatingPolicies(parts: ValidatingParts): AdmissionPlugin {
  return {
    name: NAME,
    handles: (_operation, resource) => isJudged(resource),
    validate: (a) => {
      const { hooks } = parts.policies;
      return hooks.length === 0 ? undefined : new Validation(parts, a).run();
    },
  };
}

type Denial = { readonly policy: string; readonly binding?: string; readonly message: string; readonly reason: string };

const codes: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

class Validation {
  readonly #parts: ValidatingParts;
  readonly #a: AdmissionAttributes;
  readonly #slices: WorkSlices;
  readonly #observer: CheckObserver;
  readonly #objects: VersionedObjects;
  /** By policy and key: different bindings may say different things. */
  readonly #annotations = new Map<string, Set<string>>();
  #denial: Denial | undefined;

  constructor(parts: ValidatingParts, a: AdmissionAttributes) {
    this.#parts = parts;
    this.#a = a;
    this.#slices = new WorkSlices(a);
    this.#observer = parts.observer ?? silentObserver;
    this.#objects = new VersionedObjects(a, parts);
  }

  async run(): Promise<void> {
    const rights = rightsOf(this.#parts, this.#a);
    for await (const found of invocationsOf(this.#parts.policies.hooks, this.#a, this.#parts)) {
      if ('why' in found) {
        const { policy, binding, why } = found;
        if (!policy.failsOpen) this.#deny(policy.name, binding?.name, why, 'Invalid');
        continue;
      }
      try {
        await this.#ask(found, rights);
      } catch (err) {
        if (!(err instanceof ConfigurationError)) throw err;
        const { policy } = found;
        if (!policy.failsOpen)
          this.#deny(policy.name, undefined, `failed to configure policy: ${err.message}`, 'Invalid');
      }
    }
    for (const [key, values] of this.#annotations) this.#a.annotate(key, [...values].join(', '));
    if (this.#denial) throw refusal(this.#a, this.#denial);
  }

  async #ask(found: Invocation<ValidatingPolicy>, rights: ReturnType<typeof rightsOf>): Promise<void> {
    const { policy, binding, matched, params } = found;
    if (params.length === 0) return;
    const objects = await this.#objects.in(matched);
    const namespace = await this.#parts.matcher.namespace(this.#a);
    const bareRequest = new RequestValues(this.#a, matched, objects, rights);
    const request = new RequestValues(this.#a, matched, objects, rights, namespace);
    for (const param of params) {
      const { decisions, annotations } = await policy.judge({
        request,
        bareRequest,
        param,
        slices: this.#slices,
        timer: this.#parts.timer,
      });
      for (const [index, decision] of decisions.entries()) this.#follow(policy, binding, decision, index);
      for (const annotation of annotations) {
        if ('error' in annotation) {
          this.#deny(policy.name, binding.name, annotation.error, 'Invalid');
          this.#observer.checked(policy.name, binding.name, annotation.errorType, 'deny', 0);
        } else this.#annotate(`${policy.name}/${annotation.key}`, annotation.value);
      }
    }
  }

  #follow(policy: ValidatingPolicy, binding: PolicyBinding, decision: Decision, index: number): void {
    const { isDenied, message, reason, errorType, seconds } = decision;
    const observe = (action: 'allow' | 'deny' | 'audit' | 'warn') =>
      this.#observer.checked(policy.name, binding.name, errorType, action, seconds);
    if (!isDenied) {
      if (errorType !== 'no_error') observe('allow');
      return;
    }
    for (const action of binding.actions) {
      if (action === 'Deny') {
        this.#deny(policy.name, binding.name, message, reason);
        observe('deny');
      } else if (action === 'Audit') {
        this.#a.annotate(FAILURE_KEY, failureText(policy, binding, message, index));
        observe('audit');
      } else if (action === 'Warn') {
        const who = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
        this.#a.context.warn(`Validation failed for ${who}: ${message}`);
        observe('warn');
      }
    }
  }

  #annotate(key: string, value: string): void {
    const values = this.#annotations.get(key);
    if (values) values.add(value);
    else this.#annotations.set(key, new Set([value]));
  }

  #deny(policy: string, binding: string | undefined, message: string, reason: string): void {
    this.#denial ??= { policy, ...(binding !== undefined && { binding }), message, reason };
  }
}

/** One entry, as a list. */
function failureText(
  policy: ValidatingPolicy,
  binding: PolicyBinding,
  message: string,
  expressionIndex: number,
): string {
  const { name, actions: validationActions } = binding;
  return JSON.stringify([{ message, policy: policy.name, binding: name, expressionIndex, validationActions }]);
}

/** The words of a 403 under the code and reason of the validation. */
function refusal(a: AdmissionAttributes, { policy, binding, message, reason }: Denial): StatusError {
  const who = `${NAME} '${policy}'${binding === undefined ? '' : ` with binding '${binding}'`}`;
  const why = `${who} denied request: ${message}`;
  const { status } = refuse(a, why, [{ message: why }]);
  return new StatusError({ code: codes[reason] ?? 422, reason, message: status.message!, details: status.details! });
}
