/** Starts `client-frames-child.ts`, the player of watch events that are ready before anybody asks. */
import { MeasuredProcess } from '../lib/server-process.ts';
import type { ServerContext } from '../lib/server-report.ts';

export type FramesOptions = {
  readonly dataDir: string;
  readonly pods: number;
  readonly events: number;
  readonly perSecond?: number;
  /** Pods as API servers serve them: see `podJson`. */
  readonly isManaged?: boolean;
};

export function startFrames(context: ServerContext, options: FramesOptions): Promise<MeasuredProcess> {
  const script = new URL('./client-frames-child.ts', import.meta.url);
  return MeasuredProcess.start(context, script, JSON.stringify(options));
}
