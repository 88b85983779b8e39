/**
 * The plugins that run, in their order, over one write at a time.
 *
 * Which of them a write concerns is asked once per resource, subresource and operation. Plugins that answer at once cost no
 * turn of the event loop: `admit` and `validate` return a promise only from the first plugin on that has to wait. The
 * clock is read once between two plugins.
 */
import type { Resource } from '../registry/resource.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './admission.ts';
import type { AdmissionObserver, RecordStep } from './admission-metrics.ts';
import { orderedPlugins } from './plugin-names.ts';

type Run = (a: AdmissionAttributes) => void | Promise<void>;
type Step = { readonly run: Run; readonly record: RecordStep | undefined };
/** The phases of one kind of write; none where no plugin has a part in it. */
type Phases = { readonly admit: Run | undefined; readonly validate: Run | undefined };

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
      those.flatMap((plugin) => {
        const run = plugin[type]?.bind(plugin);
        return run ? [{ run, record: this.#observer?.ofPlugin(plugin.name, operation, type) }] : [];
      });
    const [mutating, validating] = [stepsOf('admit'), stepsOf('validate')];
    const phase = (type: 'admit' | 'validate', run: Run): Run => {
      const whole = [{ run, record: this.#observer?.ofPhase(operation, type) }];
      return (a) => runSteps(whole, a);
    };
    return {
      admit: mutating.length === 0 ? undefined : phase('admit', (a) => runTwice(mutating, a)),
      validate: validating.length === 0 ? undefined : phase('validate', (a) => runSteps(validating, a)),
    };
  }
}

function runTwice(steps: readonly Step[], a: AdmissionAttributes): void | Promise<void> {
  const first = runSteps(steps, a);
  if (first !== undefined) return first.then(() => again(steps, a));
  return again(steps, a);
}

function again(steps: readonly Step[], a: AdmissionAttributes): void | Promise<void> {
  if (!a.reinvocation.isWanted) return;
  a.reinvocation.begin();
  return runSteps(steps, a);
}

function runSteps(
  steps: readonly Step[],
  a: AdmissionAttributes,
  from = 0,
  begun = performance.now(),
): void | Promise<void> {
  let since = begun;
  for (let i = from; i < steps.length; i++) {
    const { run, record } = steps[i]!;
    let waiting: void | Promise<void>;
    try {
      waiting = run(a);
    } catch (err) {
      record?.(true, secondsBetween(since, performance.now()));
      throw err;
    }
    if (waiting !== undefined) return runAfter(waiting, steps, a, i, since);
    const now = performance.now();
    record?.(false, secondsBetween(since, now));
    since = now;
  }
}

/** The steps after one that has to wait. */
function runAfter(
  waiting: Promise<void>,
  steps: readonly Step[],
  a: AdmissionAttributes,
  at: number,
  since: number,
): Promise<void> {
  const { record } = steps[at]!;
  return waiting.then(
    () => {
      const now = performance.now();
      record?.(false, secondsBetween(since, now));
      return runSteps(steps, a, at + 1, now);
    },
    (err: unknown) => {
      record?.(true, secondsBetween(since, performance.now()));
      throw err;
    },
  );
}

function secondsBetween(startMs: number, endMs: number): number {
  return (endMs - startMs) / 1000;
}
