/**
 * Follows one resource: the state as ADDED events, then every change, as many requests as it takes.
 *
 * Always true: an event is printed once, in the order of the server; the checkpoint names an event only after it was
 * printed. When the server has lost the history (410) that is said, and the state is printed anew: what was deleted
 * meanwhile is told from what was printed before, in this run; a run that began at a checkpoint says that it cannot know.
 */
import type { DynamicObject, KubeClient, Resource } from '../../../client/index.ts';
import { isExpired, versionCheckpoint } from '../../../client/index.ts';
import { type ClusterFlags, connectTo } from '../../cluster/cluster-flags.ts';
import { findResource } from '../../cluster/find-resource.ts';
import type { Io } from '../../terminal/io.ts';
import { UsageError, type Verb } from '../../terminal/run-verb.ts';
import { EventPrinter, type Form, type Seen } from './event-printer.ts';

export const FORMS = ['json', 'yaml', 'name', 'diff'] as const;

export type WatchFlags = ClusterFlags & {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly output?: Form;
  readonly checkpoint?: string;
  readonly watchOnly?: boolean;
  readonly bookmarks?: boolean;
  readonly maxEvents?: number;
  readonly timeout?: number;
};

type Where = {
  readonly allNamespaces?: boolean;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
};

/** It was asked to end: not a failure. */
class Enough extends Error {}

export function watchResource(typed: string, name: string | undefined, flags: WatchFlags): Verb {
  return async (io) => {
    if (flags.allNamespaces && flags.namespace !== undefined)
      throw new UsageError('-A and -n exclude each other: give one of them.');
    await using client = await connectTo(flags);
    const { resource } = await findResource(client, typed, 'watch');
    const named = name === undefined ? [] : [`metadata.name=${name}`];
    const fieldSelector = [...(flags.fieldSelector ? [flags.fieldSelector] : []), ...named].join(',');
    const where: Where = {
      ...(flags.allNamespaces && { allNamespaces: true }),
      ...(flags.selector !== undefined && { labelSelector: flags.selector }),
      ...(fieldSelector !== '' && { fieldSelector }),
    };
    const end = new AbortController();
    const limit = flags.timeout ? setTimeout(() => end.abort(new Enough()), flags.timeout) : undefined;
    try {
      await follow(client, resource, where, flags, io, AbortSignal.any([io.signal, end.signal]));
    } catch (err) {
      if (!(err instanceof Enough) && !(end.signal.aborted && err === end.signal.reason)) throw err;
    } finally {
      clearTimeout(limit);
    }
  };
}

async function follow(
  client: KubeClient,
  resource: Resource<DynamicObject>,
  where: Where,
  flags: WatchFlags,
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  const of = JSON.stringify([
    client.transport.access.server.href,
    resource.group,
    resource.plural,
    where,
    client.namespace,
  ]);
  await using checkpoint = flags.checkpoint === undefined ? undefined : versionCheckpoint(flags.checkpoint, { of });
  const printer = new EventPrinter(io, flags.output);
  let left = flags.maxEvents ?? Number.POSITIVE_INFINITY;
  const show = (event: Seen) => {
    printer.print(event);
    left--;
  };
  const endIfEnough = () => {
    if (left <= 0) throw new Enough();
  };
  let version = await checkpoint?.load();
  if (version !== undefined) io.note(`going on after version ${version} of ${flags.checkpoint}`);
  let isSilent = flags.watchOnly === true;
  for (;;) {
    if (version === undefined) {
      printer.beginState();
      version = await initialState(client, resource, where, signal, (object) => {
        const type = isSilent ? undefined : printer.news(object);
        if (type) show({ type, object });
        else printer.remember(object);
        endIfEnough();
      });
      for (const gone of printer.endState()) show({ type: 'DELETED', object: gone });
      checkpoint?.save(version);
      endIfEnough();
    }
    isSilent = false;
    try {
      const onInterruption = ({ error, delayMs }: { error: unknown; delayMs: number }) => {
        if (error) io.note(`the stream broke (${(error as Error).message}); going on in ${Math.round(delayMs)} ms`);
      };
      const stream = client.watchResuming(resource, { ...where, resourceVersion: version, signal, onInterruption });
      for await (const event of stream) {
        if (event.type !== 'BOOKMARK') show(event);
        else if (flags.bookmarks) printer.bookmark(event.object.metadata.resourceVersion);
        if (signal.aborted) break; // nobody has read it
        checkpoint?.save(event.object.metadata.resourceVersion);
        endIfEnough();
      }
    } catch (err) {
      if (!isExpired(err)) throw err;
      const known = printer.isWhole ? '' : ' What was deleted meanwhile cannot be told.';
      io.note(`the server no longer has version ${version} (410 ${err.reason}): the state follows anew.${known}`);
      await checkpoint?.clear();
      version = undefined;
    }
    signal.throwIfAborted();
  }
}

/** Everything that is there, page by page; the version it is of. */
async function initialState(
  client: KubeClient,
  resource: Resource<DynamicObject>,
  where: Where,
  signal: AbortSignal,
  each: (object: DynamicObject) => void,
): Promise<string> {
  let version = '';
  for await (const page of client.resource(resource).listPages({ ...where, signal, onExpired: 'throw' })) {
    version = page.metadata.resourceVersion ?? '';
    for (const item of page.items) each(item);
  }
  return version;
}
