/** What a checkpoint is told, and what it tells of itself. */

export type CheckpointOptions = {
  /** A file of this informer's own; a folder, or what ends with `/`, gets a file that is named after the selection. */
  readonly file: string;
  /** How long changes gather before they are written: 1000. */
  readonly flushMs?: number | undefined;
  /** Each batch is flushed to the disk, so that it also outlives the machine. Without it, the last ones may not. */
  readonly isDurable?: boolean | undefined;
  /**
   * Names what `transform` keeps, and must be there if there is one. A file with another name is not used: objects of an
   * older transform would be mixed with those of a newer, and the text of a function does not say what it calls.
   */
  readonly transformId?: string | undefined;
  /** Names the cluster. Without it, it is the uid of the namespace kube-system, if that may be read. */
  readonly clusterId?: string | undefined;
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
