/** The storages of two threads of a server, for tests: those that read the store, and those that follow them. Both are in this thread. */
import { MessageChannel } from 'node:worker_threads';
import { openSharedStore, type SideLine, type Store, shareStore } from '../../../store/index.ts';
import { SharedMemory } from '../objects/object-memory.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { ResourceStorages, type ResourceStoragesOptions } from '../resource-storages.ts';
import type { FeedOrder, FeedReport } from './feed-messages.ts';
import { ObjectFeed } from './feed-reflector.ts';
import { type FindCacher, serveFeed } from './object-feed.ts';

export type FollowedStorages = {
  /** With the store. */
  readonly owner: ResourceStorages;
  readonly worker: ResourceStorages;
  /** What the worker has ordered, and what it was told. */
  readonly ordered: readonly FeedOrder[];
  readonly told: readonly FeedReport[];
  /** What the worker orders waits until the returned function is called. */
  hold(): () => void;
  /** Of what was told. */
  forget(): void;
  close(): Promise<void>;
};

export async function openFollowed(
  options: ResourceStoragesOptions,
  store: Store,
  find?: (owner: ResourceStorages) => FindCacher,
): Promise<FollowedStorages> {
  const { port1, port2 } = new MessageChannel();
  const { beside } = shareStore(store, port1);
  const shared = await openSharedStore(port2);
  const owner = new ResourceStorages({ ...options, store, memory: new SharedMemory() });
  serveFeed(beside, find?.(owner) ?? (async (what) => owner.cacherOf(what)));
  const ordered: FeedOrder[] = [];
  const told: FeedReport[] = [];
  let held: unknown[] | undefined;
  const line: SideLine = {
    post(message) {
      ordered.push(message as FeedOrder);
      if (held) held.push(message);
      else shared.beside.post(message);
    },
    listen: (onMessage, onEnd) =>
      shared.beside.listen((message) => {
        told.push(message as FeedReport);
        onMessage(message);
      }, onEnd),
  };
  const worker = new ResourceStorages({ ...options, store: shared, feed: new ObjectFeed(line) });
  return {
    owner,
    worker,
    ordered,
    told,
    hold() {
      held = [];
      return () => {
        for (const message of held ?? []) shared.beside.post(message);
        held = undefined;
      };
    },
    forget() {
      told.length = 0;
    },
    async close() {
      await worker.close();
      await shared.close();
      await owner.close();
    },
  };
}

/** How many bytes of them lie in memory of this thread alone. */
export function ownBytes(objects: Iterable<StoredObject | undefined>): number {
  let bytes = 0;
  for (const object of objects)
    if (object && !(object.bytes.buffer instanceof SharedArrayBuffer)) bytes += object.bytes.length;
  return bytes;
}
