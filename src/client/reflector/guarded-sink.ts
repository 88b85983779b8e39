/**
 * A reflector's sink, held to its word: what it throws says which function it was and what it was given. One that gives
 * a promise is waited for by `replace` only; elsewhere, if that rejects it is a bug like any other, and not the end of the
 * process.
 */
import { CallbackError } from '../../api/index.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ReflectorSink } from './reflector-options.ts';

/** `onLate`: it has failed after it had returned. */
export function guardedSink<T extends AnyObject>(
  sink: ReflectorSink<T>,
  plural: string,
  onLate: (error: CallbackError) => void,
): ReflectorSink<T> {
  const guarded =
    <A extends unknown[]>(name: keyof ReflectorSink<T>, subjectOf: (...about: A) => string) =>
    (...about: A): void => {
      const failure = (cause: unknown) =>
        new CallbackError(`sink.${name}`, subjectOf(...about), `the reflector of ${plural}`, cause);
      try {
        const answer: unknown = (sink[name] as (this: unknown, ...about: unknown[]) => unknown).apply(sink, about);
        if (answer instanceof Promise) answer.catch((cause: unknown) => onLate(failure(cause)));
      } catch (cause) {
        throw failure(cause);
      }
    };
  return {
    replace: async (...about) => {
      const failure = (cause: unknown) => new CallbackError('sink.replace', '', `the reflector of ${plural}`, cause);
      try {
        const takeOver = await sink.replace(...about);
        return () => {
          try {
            takeOver?.();
          } catch (cause) {
            throw failure(cause);
          }
        };
      } catch (cause) {
        throw failure(cause);
      }
    },
    upsert: guarded('upsert', keyOf),
    remove: guarded('remove', keyOf),
    progress: guarded('progress', (resourceVersion) => resourceVersion),
    changed: guarded('changed', ({ kind }) => kind),
  };
}
