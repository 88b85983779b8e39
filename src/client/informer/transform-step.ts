/**
 * What becomes of an object on its way into the store: it is transformed, frozen, and checked.
 *
 * None of that can keep an object out. A transform that throws, or gives something that is not the same object any more
 * (by name, namespace, uid and version), is reported once for each object until it works again, and the object is kept
 * as it came; one that does not fit its validator is reported later, as the server sent it, for the check may take its
 * time.
 */
import { CallbackError, deepFreeze } from '../../api/index.ts';
import { forgetRemoved, settle } from '../lazy/managed-fields.ts';
import { checkSpec, type Resource } from '../objects/define-resource.ts';
import { freezesByDefault } from '../objects/freeze.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { InformerOptions } from './informer-options.ts';

type TransformContext<T extends AnyObject> = {
  readonly resource: Resource<T>;
  readonly options: Pick<InformerOptions<T>, 'transform' | 'freeze' | 'onInvalid'>;
  readonly report: (error: unknown) => void;
  /** Calls somebody who may throw. */
  readonly guard: (callback: string, tell: () => unknown, subject: string) => void;
};

const MANY_FAILED = 10_000;

export class TransformStep<T extends AnyObject> {
  readonly #context: TransformContext<T>;
  readonly #freezes: boolean;
  /** Keys of objects that the transform has failed at. */
  readonly #failed = new Set<string>();
  /** Keys of objects that the validator has failed at. */
  readonly #unchecked = new Set<string>();

  constructor(context: TransformContext<T>) {
    this.#context = context;
    this.#freezes = context.options.freeze ?? freezesByDefault();
  }

  /** What is kept of an object. */
  prepare(object: T): T {
    const { transform } = this.#context.options;
    return this.freeze(transform ? this.#transformed(transform, object) : object);
  }

  #transformed(transform: (object: T) => T, object: T): T {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const key = keyOf(object);
    try {
      const kept: unknown = transform(object) ?? object;
      if (kept instanceof Promise) kept.catch(() => {});
      const is = (kept as Partial<T>).metadata;
      const isSame =
        is?.name === name && is.namespace === namespace && is.uid === uid && is.resourceVersion === resourceVersion;
      if (!isSame) throw new TypeError('it gave another object, or none: name, namespace, uid and version must stay');
      if (this.#failed.size > 0) this.#failed.delete(key);
      forgetRemoved(kept as T);
      return kept as T;
    } catch (error) {
      if (!this.#failed.has(key)) {
        remember(this.#failed, key);
        this.#context.report(
          new CallbackError('transform', key, `the informer of ${this.#context.resource.plural}`, error),
        );
      }
      return object;
    }
  }

  freeze(kept: T): T {
    if (!this.#freezes) return kept;
    settle(kept);
    return deepFreeze(kept);
  }

  check(key: string, object: T): void {
    const { resource, options, report, guard } = this.#context;
    const { onInvalid } = options;
    if (!onInvalid || !resource.validate) return;
    checkSpec(resource, object).then(
      (issues) => {
        if (this.#unchecked.size > 0) this.#unchecked.delete(key);
        if (issues.length > 0) guard('onInvalid', () => onInvalid({ key, object, issues }), key);
      },
      (error: unknown) => {
        if (this.#unchecked.has(key)) return;
        remember(this.#unchecked, key);
        report(error);
      },
    );
  }
}

/** Better reported twice than remembered without end. */
function remember(keys: Set<string>, key: string): void {
  if (keys.size >= MANY_FAILED) keys.clear();
  keys.add(key);
}
