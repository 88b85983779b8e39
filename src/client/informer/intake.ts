/**
 * What becomes of an object on its way into the store: it is transformed, frozen, and checked.
 *
 * None of that can keep an object out. A transform that throws is told, and the object kept as it came; one that does not
 * fit its validator is told later, as the server sent it, for the check may take its time.
 */
import { checkSpec, type Resource } from '../resources/define-resource.ts';
import type { AnyObject } from '../resources/objects.ts';
import { deepFreeze, freezesByDefault } from './freeze.ts';
import type { InformerOptions } from './informer-options.ts';

type IntakeContext<T extends AnyObject> = {
  readonly resource: Resource<T>;
  readonly options: Pick<InformerOptions<T>, 'transform' | 'freeze' | 'onInvalid'>;
  readonly report: (error: unknown) => void;
  /** Calls somebody who may throw. */
  readonly guard: (tell: () => unknown) => void;
};

export class Intake<T extends AnyObject> {
  readonly #context: IntakeContext<T>;
  readonly #freezes: boolean;

  constructor(context: IntakeContext<T>) {
    this.#context = context;
    this.#freezes = context.options.freeze ?? freezesByDefault();
  }

  /** What is kept of an object. */
  prepare(object: T): T {
    const { options, report } = this.#context;
    let kept = object;
    try {
      kept = options.transform?.(object) ?? object;
    } catch (error) {
      report(error);
    }
    return this.freeze(kept);
  }

  freeze(kept: T): T {
    return this.#freezes ? deepFreeze(kept) : kept;
  }

  check(key: string, object: T): void {
    const { resource, options, report, guard } = this.#context;
    const { onInvalid } = options;
    if (!onInvalid || !resource.validate) return;
    checkSpec(resource, object).then(
      (issues) => issues.length > 0 && guard(() => onInvalid({ key, object, issues })),
      report, // the validator threw
    );
  }
}
