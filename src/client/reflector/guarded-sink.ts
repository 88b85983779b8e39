/**
 * A reflector's sink, held to its word: what it throws says which function it was and what it was given. One that gives
 * a promise is waited for by `replace` only; elsewhere, if that rejects it is a bug like any other, and not the end of the
 * process.
 */
import { CallbackError } from '../../api/index.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import type { ReflectorSink } from './reflector-options.ts';
import type { ReflectorState } from './reflector-state.ts';

/** `onLate`: it has failed after it had returned. */
export function guardedSink<T extends AnyObject>(
  sink: ReflectorSink<T>,
  plural: string,
  onLate: (error: CallbackError) => void,
): ReflectorSink<T> {
  type Told = Exclude<keyof ReflectorSink<T>, 'replace' | 'known'>;
  const guarded = <A>(name: Told, subjectOf: (about: A) => string) => {
    const failure = (about: A, cause: unknown) =>
      new CallbackError(`sink.${name}`, subjectOf(about), `the reflector of ${plural}`, cause);
    return (about: A): void => {
      try {
        const answer: unknown = (sink[name] as (this: unknown, about: unknown) => unknown).call(sink, about);
        if (answer instanceof Promise) answer.catch((cause: unknown) => onLate(failure(about, cause)));
      } catch (cause) {
        throw failure(about, cause);
      }
    };
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
    upsert: guarded<T>('upsert', keyOf),
    remove: guarded<T>('remove', keyOf),
    progress: guarded<string>('progress', (resourceVersion) => resourceVersion),
    changed: guarded<ReflectorState>('changed', ({ kind }) => kind),
  };
}
