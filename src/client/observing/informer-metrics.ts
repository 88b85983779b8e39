/** What an informer tells of itself: how current its store is, and what it, its watches and its handlers have done. */

/**
 * - `syncing`: the whole state has not come yet
 * - `current`: every watch is open
 * - `interrupted`: some watch is being taken up again, or for the first time since a checkpoint was read; reads are
 *   answered from what is known, which `lagMs` tells the age of
 * - `refused`: the server says no, and waiting will not mend it: see `error`. It is asked again all the same.
 * - `stopped`: by its owner, or by a bug: see `error`
 */
export type InformerState = 'syncing' | 'current' | 'interrupted' | 'refused' | 'stopped';

export type Freshness = {
  readonly state: InformerState;
  /** The store has everything up to this version; undefined while it is syncing. */
  readonly resourceVersion: string | undefined;
  /** Since the server was last heard: the store is no older than that. With several watches, the worst. */
  readonly lagMs: number | undefined;
  readonly lastContact: Date | undefined;
  /**
   * How long the slowest handler has been at its present event: the store goes on, but the handler gets no further
   * event.
   */
  readonly busyMs: number;
  /** What keeps it from being current, if something does. */
  readonly error: unknown;
};

/** Of the reflector of one watch, since the start; an informer adds those of all its watches up. */
export type ReflectorCounts = {
  /** How often the whole state was fetched. */
  readonly lists: number;
  /** Of those, in pages. */
  readonly pagedLists: number;
  /** Of those, because a stream had broken before it was known whose versions it carried. */
  readonly unknownHistories: number;
  /** Streams that the server accepted. */
  readonly streams: number;
  /** Of those, how many took the place of one that was still open. */
  readonly rotations: number;
  /** Ends that were followed by a pause. */
  readonly failures: number;
  readonly events: number;
  readonly bookmarks: number;
};

export type HandlerMetrics = {
  readonly name: string;
  /** Events that wait. */
  readonly backlog: number;
  readonly delivered: number;
  readonly conflated: number;
  readonly errors: number;
  /** How long it has been at its present event; 0 if it is at none. */
  readonly busyMs: number;
};

export type CheckpointMetrics = {
  /** Of the file. */
  readonly bytes: number;
  /** How many objects came from the disk at the start. */
  readonly restored: number;
  readonly commits: number;
  /** Of those, how many wrote the whole file anew. */
  readonly rewrites: number;
  readonly failures: number;
  /** When the last commit was on its way to the disk; undefined before the first. */
  readonly savedAt: Date | undefined;
};

export type InformerMetrics = ReflectorCounts & {
  readonly objects: number;
  readonly added: number;
  readonly updated: number;
  readonly deleted: number;
  /** How often it was held against the server. */
  readonly audits: number;
  /** How many objects were found to be wrong by that. */
  readonly divergences: number;
  readonly handlers: readonly HandlerMetrics[];
  /** If it has one. */
  readonly checkpoint?: CheckpointMetrics;
};
