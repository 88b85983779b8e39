/**
 * Runs an example: ends it cleanly with Ctrl-C, and with an error if what it waits for has not come within a minute.
 *
 * The signal reaches everything that waits, so whatever an example has opened or created is taken down on the way out,
 * by `await using`, whichever way that is.
 */
const PATIENCE_MS = 60_000;

export async function runExample(example: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort(new Error('interrupted'));
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, onInterrupt);
  const patience = AbortSignal.timeout(PATIENCE_MS);
  try {
    await example(AbortSignal.any([interrupt.signal, patience]));
  } catch (err) {
    if (!interrupt.signal.aborted) throw err;
    console.log('stopped');
    process.exitCode = 130;
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onInterrupt);
  }
}
