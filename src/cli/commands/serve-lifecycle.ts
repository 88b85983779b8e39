/**
 * How `longwatch serve` comes to its end: SIGTERM and SIGINT stop it gracefully, a second one on the spot; SIGHUP when a
 * terminal is closed stops it too, and without a terminal reads certificates and tokens again.
 */
import { isatty } from 'node:tty';
import type { RunningServer, ServerOptions } from '../../server/server-options.ts';

/** However hard something hangs, the process is gone by then. */
const STOP_LIMIT_MS = 9_500;

/** The first signal; the next one ends the process on the spot. */
export function untilSignalled(server: RunningServer): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    const onSignal = () => {
      if (++count > 1) process.exit(1);
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    // A terminal that goes may say so several times, once more for the shell that goes with it.
    process.on('SIGHUP', hasTerminal() ? () => resolve() : () => server.reload());
  });
}

/** Whether SIGHUP can mean that a terminal was closed. `nohup` takes the terminal away too. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd));
}

export async function stop(server: RunningServer, options: ServerOptions, log: (line: string) => void): Promise<void> {
  log('longwatch: stopping');
  const limit = setTimeout(
    () => {
      log('longwatch: something did not end in time');
      process.exit(0);
    },
    STOP_LIMIT_MS + (options.shutdownDelayMs ?? 0) + (options.shutdownWatchTerminationGraceMs ?? 0),
  );
  limit.unref();
  try {
    await server.close();
  } catch (err) {
    log(`longwatch: ${err instanceof Error ? err.message : String(err)}`);
    process.exitCode = 1;
  }
  log('longwatch: stopped');
  process.exit(); // signal handlers would keep nothing alive, but a library might
}
