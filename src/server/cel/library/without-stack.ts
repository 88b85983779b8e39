/** Runs what may fail in a way that nobody looks at: a stack for each of a thousand errors takes longer than all the rest. */
export function withoutStack<T>(run: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
