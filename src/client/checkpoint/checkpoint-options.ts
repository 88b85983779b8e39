/** The options of a checkpoint. */
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
