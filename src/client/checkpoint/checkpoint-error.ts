/**
 * What can be wrong with a checkpoint. `Locked`: another process has it, and whoever wanted it stops. Everything else
 * is reported and worked without: `Unusable` (damaged, or of something else; it was set aside) and `Disk` (reading or
 * writing failed; writing is tried again).
 */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError';
  readonly code: 'Locked' | 'Unusable' | 'Disk';

  constructor(code: CheckpointError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
