/**
 * Resolves with the first of some events; unlike `once` of Node, an error is not one unless it is asked for. What is
 * destroyed has nothing more to say, and is not waited for.
 */
import type { EventEmitter } from 'node:events';

export function firstOf(
  emitter: EventEmitter & { readonly destroyed?: boolean },
  ...events: readonly string[]
): Promise<void> {
  return new Promise((resolve) => {
    if (emitter.destroyed) return resolve();
    const done = () => {
      for (const event of events) emitter.off(event, done);
      resolve();
    };
    for (const event of events) emitter.on(event, done);
  });
}
