/**
 * What runs in pods: a door of its own, `longwatch/client/pods`, for few programs that watch objects also run programs in
 * containers.
 */
export type { CopyOptions } from './pods/copy-files.ts';
export type { LogOptions } from './pods/log-lines.ts';
export { type AttachOptions, PodClient, podsOf, type RunOptions, type RunResult } from './pods/pod-client.ts';
export type { PodProcess } from './pods/pod-process.ts';
export type { PortForward, PortForwardOptions } from './pods/port-forward.ts';
