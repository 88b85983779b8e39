/** Loggers: one for the terminal, and the guard that keeps a logger of others from doing harm. */
import { type LogFields, type Logger, tellSafely } from '../../api/index.ts';

/** One line each on stderr. The message says everything; the fields say it again for machines, and are left out. */
export function consoleLogger(level: number): Logger {
  return { level, log: (_level, message) => console.error(message) };
}

/** Without a logger nothing is ever wanted. */
export class SafeLogger implements Logger {
  readonly #logger: Logger | undefined;
  #hasWarned = false;

  constructor(logger: Logger | undefined) {
    this.#logger = logger;
  }

  get level(): number {
    return this.#logger?.level ?? -1;
  }

  log(level: number, message: string, fields: LogFields): void {
    if (level > this.level) return;
    tellSafely(
      () => this.#logger?.log(level, message, fields),
      (error) => {
        if (this.#hasWarned) return; // once says it
        this.#hasWarned = true;
        process.emitWarning(error instanceof Error ? error : String(error), { type: 'LoggerWarning' });
      },
    );
  }
}
