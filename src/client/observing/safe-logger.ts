/** Loggers: one for the terminal, and the guard that keeps a logger of others from doing harm. */
import { CallbackError, type LogFields, type Logger, tellSafely } from '../../api/index.ts';

/** One line each on stderr. The message says everything; the fields say it again for machines, and are left out. */
export function consoleLogger(level: number): Logger {
  return { level, log: (_level, message) => console.error(message) };
}

/** Loggers that have failed, and were warned of. */
const failing = new WeakSet<Logger>();

/** Without a logger nothing is ever wanted, nor if it cannot say what it wants. */
export class SafeLogger implements Logger {
  readonly #logger: Logger | undefined;

  constructor(logger: Logger | undefined) {
    this.#logger = logger;
  }

  get level(): number {
    if (!this.#logger) return -1;
    try {
      const level: unknown = this.#logger.level;
      if (typeof level === 'number' && !Number.isNaN(level)) return level;
      if (level instanceof Promise) level.catch(() => {}); // what it is about is said below
      throw new TypeError('it is no number');
    } catch (error) {
      this.#warn('logger.level', error);
      return -1;
    }
  }

  log(level: number, message: string, fields: LogFields): void {
    if (level > this.level) return;
    tellSafely(
      () => this.#logger?.log(level, message, fields),
      (error) => this.#warn('logger.log', error),
    );
  }

  #warn(callback: string, error: unknown): void {
    if (!this.#logger || failing.has(this.#logger)) return; // once says it
    failing.add(this.#logger);
    const warning = new CallbackError(callback, '', 'the client', error);
    process.emitWarning(Object.assign(warning, { name: 'LoggerWarning' }));
  }
}
