/**
 * What watchers of a kind are told while something is done: `expectEvents` does it, watches, and compares. Events
 * are written as `ADDED default/web`, in their order; bookmarks are none. It fails with both lists, as soon as one
 * is another than expected, or when no more come.
 */
import type { AnyObject, KubeClient, Resource } from '../client/index.ts';
import { keyOf } from '../client/index.ts';

export type ExpectEventsOptions = {
  /** All without it. */
  readonly namespace?: string;
  /** How long the next event may take, in real time: 20 s. */
  readonly timeoutMs?: number;
};

const PATIENCE_MS = 20_000;

/** What `act` causes is watched from the version that was there before it. The objects of the events, in their order. */
export async function expectEvents<T extends AnyObject>(
  client: KubeClient,
  resource: Resource<T>,
  expected: readonly string[],
  act: () => unknown,
  { namespace, timeoutMs = PATIENCE_MS }: ExpectEventsOptions = {},
): Promise<T[]> {
  const where = namespace === undefined ? { allNamespaces: true } : { namespace };
  const { metadata } = await client.resource(resource).list({ ...where, limit: 1 });
  const stop = new AbortController();
  const seen: string[] = [];
  const objects: T[] = [];
  const fail = (why: string) =>
    new Error(`${why}\n  expected: ${expected.join(', ') || 'nothing'}\n  seen:     ${seen.join(', ') || 'nothing'}`);
  const late = () => stop.abort(fail(`Cannot see the events: none came for ${timeoutMs} ms`));
  let timer = setTimeout(late, timeoutMs);
  try {
    const doing = Promise.resolve(act());
    doing.catch((error: unknown) => stop.abort(error));
    if (expected.length === 0) await doing;
    else {
      const options = { ...where, resourceVersion: metadata.resourceVersion ?? '', signal: stop.signal };
      for await (const { type, object } of client.watch(resource, options)) {
        if (type === 'BOOKMARK') continue;
        seen.push(`${type} ${keyOf(object)}`);
        objects.push(object as T);
        if (seen.at(-1) !== expected[seen.length - 1]) throw fail('Cannot go on: another event came than was expected');
        if (seen.length === expected.length) break;
        clearTimeout(timer);
        timer = setTimeout(late, timeoutMs);
      }
      if (seen.length < expected.length) throw fail('Cannot see the events: the watch has ended');
      await doing;
    }
    return objects;
  } finally {
    clearTimeout(timer);
    stop.abort(new Error('the events have been seen'));
  }
}
