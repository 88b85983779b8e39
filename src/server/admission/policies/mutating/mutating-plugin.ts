/**
 * MutatingAdmissionPolicy as an admission plugin: policies that match, one after the other, each seeing what those before
 * it made of the object. All errors are collected, and the request is refused with the first of those whose policy does
 * not let it pass.
 *
 * A change asks for the mutating phase to run once more; then only policies run that want to, ran before, and after which
 * something changed. Where there are no policies nothing is done and nothing is waited for.
 */
import { badRequest, internalError, type JsonObject, type KubeObject, StatusError } from '../../../../api/index.ts';
import { checkDecoded, cloneJson, jsonEqual } from '../../../codec/index.ts';
import { WorkSlices } from '../../../event-loop/work-slices.ts';
import type { Schema } from '../../../schema/schema.ts';
import { builtInSchemas } from '../../../schema/schemas.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../../admission.ts';
import { withItsType } from '../../changed-type.ts';
import type { KnownRights } from '../../expressions/known-rights.ts';
import { type Matched, RequestValues } from '../../expressions/request-values.ts';
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
import type { MutatingPolicy, Mutation } from './mutating-policy.ts';
import { MutationError } from './mutation-error.ts';

const NAME = 'MutatingAdmissionPolicy';

export type MutatingParts = DispatchParts & {
  readonly policies: PolicySource<MutatingPolicy>;
  readonly observer?: CheckObserver;
};

export function mutatingPolicies(parts: MutatingParts): AdmissionPlugin {
  return {
    name: NAME,
    handles: (_operation, resource) => isJudged(resource),
    admit: (a) => (parts.policies.hooks.length === 0 ? undefined : new MutationRun(parts, a).run()),
  };
}

/** What is kept between the two runs of the mutating phase. */
type Rounds = {
  /** Reinvocable policies that ran, until something changes the object. */
  readonly ran: Set<string>;
  /** Those of them after which something did. */
  readonly due: Set<string>;
  /** The object as the policies left it. */
  left: KubeObject | undefined;
};

type PolicyFault = { readonly message: string; readonly isInvalid: boolean };

class MutationRun {
  readonly #parts: MutatingParts;
  readonly #a: AdmissionAttributes;
  readonly #slices: WorkSlices;
  readonly #rights: KnownRights;
  readonly #observer: CheckObserver;
  readonly #rounds: Rounds;
  readonly #objects: VersionedObjects;
  readonly #faults: PolicyFault[] = [];

  constructor(parts: MutatingParts, a: AdmissionAttributes) {
    this.#parts = parts;
    this.#a = a;
    this.#slices = new WorkSlices(a);
    this.#rights = rightsOf(parts, a);
    this.#observer = parts.observer ?? silentObserver;
    this.#rounds = roundsOf(a);
    this.#objects = new VersionedObjects(a, parts);
  }

  async run(): Promise<void> {
    const a = this.#a;
    const { isSecondRun } = a.reinvocation;
    if (isSecondRun && !jsonEqual(this.#rounds.left as never, a.object as never)) changed(this.#rounds);
    // Whom it concerns is decided before the first of them changes anything.
    const invocations: Invocation<MutatingPolicy>[] = [];
    for await (const found of invocationsOf(this.#parts.policies.hooks, a, this.#parts)) {
      if ('why' in found) this.#fault(found.policy, found.binding?.name, found.why, false);
      else invocations.push(found);
    }
    for (const invocation of invocations)
      for (const param of invocation.params)
        try {
          await this.#invoke(invocation, param, isSecondRun);
        } catch (err) {
          if (!(err instanceof ConfigurationError)) throw err;
          this.#fault(invocation.policy, undefined, `failed to configure policy: ${err.message}`, false);
        }
    if (this.#rounds.ran.size + this.#rounds.due.size > 0) this.#rounds.left = a.object && cloneJson(a.object);
    if (this.#faults.length > 0) throw refusal(a, this.#faults);
  }

  async #invoke(invocation: Invocation<MutatingPolicy>, param: KubeObject | null, isSecondRun: boolean): Promise<void> {
    const { policy, binding } = invocation;
    const slices = this.#slices;
    const { timer } = this.#parts;
    const { isMatch, error } = await policy.conditions({
      request: await this.#request(invocation, false),
      param,
      slices,
      timer,
    });
    if (error !== undefined) {
      this.#fault(policy, binding.name, error, true);
      return;
    }
    const id = JSON.stringify([policy.name, binding.name, param?.metadata.namespace, param?.metadata.name]);
    if (!isMatch || (isSecondRun && !this.#rounds.due.has(id))) return;
    let isChanged = false;
    for (const mutation of policy.mutations) if (await this.#mutate(invocation, mutation, param)) isChanged = true;
    if (isChanged) {
      changed(this.#rounds);
      this.#a.reinvocation.want();
    }
    if (policy.isReinvocable) this.#rounds.ran.add(id);
  }

  /** Whether it changed the object. */
  async #mutate(
    invocation: Invocation<MutatingPolicy>,
    mutation: Mutation,
    param: KubeObject | null,
  ): Promise<boolean> {
    const { policy, binding, matched } = invocation;
    const began = performance.now();
    const observe = (error: string, action: 'allow' | 'deny') =>
      this.#observer.checked(policy.name, binding.name, error, action, (performance.now() - began) / 1000);
    const { object } = await this.#objects.in(matched);
    if (!object) return false;
    try {
      const input = {
        request: await this.#request(invocation, true),
        param,
        slices: this.#slices,
        timer: this.#parts.timer,
      };
      const before = object as unknown as JsonObject;
      const after = await policy.mutate(mutation, before, schemaOf(matched), input);
      const isChanged = after !== before && !jsonEqual(after, before);
      if (isChanged) await this.#replace(invocation, mutation, after);
      observe('no_error', 'allow');
      return isChanged;
    } catch (err) {
      observe('invalid_error', 'deny');
      if (!(err instanceof MutationError)) throw err;
      this.#fault(policy, binding.name, err.message, true);
      return false;
    }
  }

  /** What the mutation made takes the place of the object, in the version of the request. */
  async #replace(
    { matched }: Invocation<MutatingPolicy>,
    { isJsonPatch }: Mutation,
    changed: JsonObject,
  ): Promise<void> {
    const { resource: asked, kind, namespace, signal } = this.#a;
    const { resource } = matched;
    const object = withItsType(changed, matched);
    const isWhole = kind.kind === asked.kind;
    if (isJsonPatch && isWhole && !resource.isCustom)
      checkDecoded(object, resource, 'Strict', (why) => internalError(why));
    const { namespace: given } = (object.metadata ?? {}) as { namespace?: unknown };
    if (asked.isNamespaced && given && given !== namespace)
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    const made = object as unknown as KubeObject;
    const isOther = resource !== asked && isWhole;
    const back = isOther ? await this.#parts.convert(made, resource, asked, signal) : made;
    this.#a.replaceObject(back as unknown as JsonObject);
  }

  /** The request as it is now; conditions see no namespace. */
  async #request({ matched }: Invocation<MutatingPolicy>, hasNamespace: boolean): Promise<RequestValues> {
    const a = this.#a;
    const objects = await this.#objects.in(matched);
    const namespace = hasNamespace ? await this.#parts.matcher.namespace(a) : undefined;
    return new RequestValues(a, matched, objects, this.#rights, namespace);
  }

  #fault(policy: MutatingPolicy, binding: string | undefined, why: string, isInvalid: boolean): void {
    if (policy.failsOpen) return;
    const who = `policy '${policy.name}'${binding === undefined ? '' : ` with binding '${binding}'`}`;
    this.#faults.push({ message: `${who} denied request: ${why}`, isInvalid });
  }
}

/** What a subresource takes is of a kind of its own. */
function schemaOf({ resource, kind }: Matched): Schema {
  const isOwn = kind.kind === resource.kind && kind.group === resource.group;
  return (isOwn ? undefined : builtInSchemas().byKind(kind.group, kind.version, kind.kind)) ?? resource.schema;
}

function roundsOf({ reinvocation }: AdmissionAttributes): Rounds {
  let rounds = reinvocation.notes.get(NAME) as Rounds | undefined;
  if (!rounds) {
    rounds = { ran: new Set(), due: new Set(), left: undefined };
    reinvocation.notes.set(NAME, rounds);
  }
  return rounds;
}

function changed({ ran, due }: Rounds): void {
  for (const id of ran) due.add(id);
  ran.clear();
}

/** A 403 whatever its reason, in the words of the first. */
function refusal(a: AdmissionAttributes, faults: readonly PolicyFault[]): StatusError {
  const { status } = refuse(
    a,
    '',
    faults.map(({ message }) => ({ message })),
  );
  const [{ message, isInvalid }] = faults as [PolicyFault];
  const reason = isInvalid ? 'Invalid' : 'Forbidden';
  return new StatusError({ code: 403, reason, message, details: status.details! });
}
