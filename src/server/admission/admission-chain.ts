/**
 * The plugins that run, in their order, over one write at a time.
 *
 * Which of them a write concerns is asked once per resource, subresource and operation. Plugins that answer at once cost no
 * turn of the event loop: `admit` and `validate` return a promise only from the first plugin on that has to wait.
 */
import type { Resource } from '../registry/resource.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './admission.ts';
import { orderedPlugins } from './plugin-names.ts';

type Step = (a: AdmissionAttributes) => void | Promise<void>;
type Steps = { readonly mutating: readonly Step[]; readonly validating: readonly Step[] };

export class AdmissionChain {
  readonly plugins: readonly AdmissionPlugin[];
  readonly #steps = new WeakMap<Resource, Map<string, Steps>>();

  constructor(plugins: readonly AdmissionPlugin[]) {
    const places = new Map(plugins.map((plugin) => [plugin, orderedPlugins.indexOf(plugin.name)]));
    for (const [{ name }, at] of places)
      if (at < 0) throw new Error(`Cannot order admission plugin ${JSON.stringify(name)}: it is unknown`);
    this.plugins = [...plugins].sort((a, b) => places.get(a)! - places.get(b)!);
  }

  /** Whether such a write can be stored without asking anybody. */
  isEmptyFor(operation: AdmissionOperation, resource: Resource, subresource: string): boolean {
    const { mutating, validating } = this.#stepsFor(operation, resource, subresource);
    return mutating.length === 0 && validating.length === 0;
  }

  /** The mutating phase, twice if a policy or webhook asks for it. */
  admit(a: AdmissionAttributes): void | Promise<void> {
    const { mutating } = this.#stepsFor(a.operation, a.resource, a.subresource);
    if (mutating.length === 0) return;
    const first = run(mutating, a);
    if (first !== undefined) return first.then(() => again(mutating, a));
    return again(mutating, a);
  }

  validate(a: AdmissionAttributes): void | Promise<void> {
    return run(this.#stepsFor(a.operation, a.resource, a.subresource).validating, a);
  }

  #stepsFor(operation: AdmissionOperation, resource: Resource, subresource: string): Steps {
    let ofResource = this.#steps.get(resource);
    if (!ofResource) {
      ofResource = new Map();
      this.#steps.set(resource, ofResource);
    }
    const key = `${operation} ${subresource}`;
    let steps = ofResource.get(key);
    if (!steps) {
      const those = this.plugins.filter(({ handles }) => handles?.(operation, resource, subresource) ?? true);
      steps = {
        mutating: those.flatMap((plugin) => (plugin.admit ? [(a) => plugin.admit!(a)] : [])),
        validating: those.flatMap((plugin) => (plugin.validate ? [(a) => plugin.validate!(a)] : [])),
      };
      ofResource.set(key, steps);
    }
    return steps;
  }
}

function again(steps: readonly Step[], a: AdmissionAttributes): void | Promise<void> {
  if (!a.reinvocation.isWanted) return;
  a.reinvocation.begin();
  return run(steps, a);
}

function run(steps: readonly Step[], a: AdmissionAttributes, from = 0): void | Promise<void> {
  for (let i = from; i < steps.length; i++) {
    const waiting = steps[i]!(a);
    if (waiting !== undefined) return waiting.then(() => run(steps, a, i + 1));
  }
}
