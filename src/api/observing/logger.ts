/**
 * Where log lines go. Levels are klog's, so that `-v=6` means here what people know it to mean:
 *
 *     0  what somebody has to look at       6  one line for each request
 *     1  a manager starts, waits, leads
 *     2  informers change their state       7  headers of requests, without credentials
 *        requests wait for our own limit
 *     4  watches and lists begin anew       8  bodies, cut short       9  bodies whole
 *
 * Whatever the level, tokens, passwords and the contents of Secrets never reach a line.
 */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** Lines above it are not even made. It is asked each time, so it may change. */
  readonly level: number;
  /** Must not wait. If it throws, the line is lost and nothing else. */
  log(level: number, message: string, fields: LogFields): void;
}
