/**
 * The plugins that run, in their order, over one write at a time.
 *
 * Which of them a write concerns is asked once per resource, subresource and operation. Plugins that answer at once cost no
 * turn of the event loop: `admit` and `validate` return a promise only from the first plugin on that has to wait.
 */
import type { Resource } from '../registry/resource.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './admission.ts';
import type { AdmissionObserver, RecordStep } from './admission-metrics.ts';
import { orderedPlugins } from './plugin-names.ts';

type Step = (a: AdmissionAttributes) => void | Promise<void>;
/** The phases of one kind of write; none where no plugin has a part in it. */
type Phases = { readonly admit: Step | undefined; readonly validate: Step | undefined };

export class AdmissionChain {
  readonly plugins: readonly AdmissionPlugin[];
  readonly #observer: AdmissionObserver | undefined;
  readonly #phases = new WeakMap<Resource, Map<string, Phases>>();

  constructor(plugins: readonly AdmissionPlugin[], observer?: AdmissionObserver) {
    const places = new Map(plugins.map((plugin) => [plugin, orderedPlugins.indexOf(plugin.name)]));
    for (const [{ name }, at] of places)
      if (at < 0) throw new Error(`Cannot order admission plugin ${JSON.stringify(name)}: it is unknown`);
    this.plugins = [...plugins].sort((a, b) => places.get(a)! - places.get(b)!);
    this.#observer = observer;
  }

  /** Whether such a write can be stored without asking anybody. */
  isEmptyFor(operation: AdmissionOperation, resource: Resource, subresource: string): boolean {
    const { admit, validate } = this.#phasesFor(operation, resource, subresource);
    return !admit && !validate;
  }

  /** The mutating phase, twice if a policy or webhook asks for it. */
  admit(a: AdmissionAttributes): void | Promise<void> {
    return this.#phasesFor(a.operation, a.resource, a.subresource).admit?.(a);
  }

  validate(a: AdmissionAttributes): void | Promise<void> {
    return this.#phasesFor(a.operation, a.resource, a.subresource).validate?.(a);
  }

  #phasesFor(operation: AdmissionOperation, resource: Resource, subresource: string): Phases {
    let ofResource = this.#phases.get(resource);
    if (!ofResource) {
      ofResource = new Map();
      this.#phases.set(resource, ofResource);
    }
    const key = `${operation} ${subresource}`;
    let phases = ofResource.get(key);
    if (!phases) {
      phases = this.#makePhases(operation, resource, subresource);
      ofResource.set(key, phases);
    }
    return phases;
  }

  #makePhases(operation: AdmissionOperation, resource: Resource, subresource: string): Phases {
    const those = this.plugins.filter(({ handles }) => handles?.(operation, resource, subresource) ?? true);
    const stepsOf = (type: 'admit' | 'validate'): Step[] =>
      those.flatMap((plugin) =>
        plugin[type] ? [timed((a) => plugin[type]!(a), this.#observer?.ofPlugin(plugin.name, operation, type))] : [],
      );
    const [mutating, validating] = [stepsOf('admit'), stepsOf('validate')];
    const phase = (type: 'admit' | 'validate', step: Step) => timed(step, this.#observer?.ofPhase(operation, type));
    return {
      admit: mutating.length === 0 ? undefined : phase('admit', (a) => runTwice(mutating, a)),
      validate: validating.length === 0 ? undefined : phase('validate', (a) => run(validating, a)),
    };
  }
}

function timed(step: Step, record: RecordStep | undefined): Step {
  if (!record) return step;
  return (a) => {
    const start = performance.now();
    const end = (isRejected: boolean) => record(isRejected, (performance.now() - start) / 1000);
    let waiting: void | Promise<void>;
    try {
      waiting = step(a);
    } catch (err) {
      end(true);
      throw err;
    }
    if (waiting === undefined) return end(false);
    return waiting.then(
      () => end(false),
      (err: unknown) => {
        end(true);
        throw err;
      },
    );
  };
}

function runTwice(steps: readonly Step[], a: AdmissionAttributes): void | Promise<void> {
  const first = run(steps, a);
  if (first !== undefined) return first.then(() => again(steps, a));
  return again(steps, a);
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
