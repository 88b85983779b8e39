/** Lines of a reconcile: each carries what it is about: the controller, the key, the cluster if it has a name. */
import { type LogFields, type Logger, tellSafely } from '../../api/index.ts';

export interface ReconcileLog {
  /** What somebody has to look at: level 0. */
  error(message: string, fields?: LogFields): void;
  /** Level 2. */
  info(message: string, fields?: LogFields): void;
  /** Level 4. */
  debug(message: string, fields?: LogFields): void;
}

export function reconcileLog(logger: Logger | undefined, about: LogFields): ReconcileLog {
  const at = (level: number) => (message: string, fields: LogFields) =>
    logger && level <= logger.level && guarded(() => logger.log(level, message, { ...about, ...fields }));
  const [error, info, debug] = [at(0), at(2), at(4)];
  return {
    error: (message, fields = {}) => void error(message, fields),
    info: (message, fields = {}) => void info(message, fields),
    debug: (message, fields = {}) => void debug(message, fields),
  };
}

/** A logger that throws loses its line, and nothing else. */
function guarded(log: () => void): void {
  tellSafely(log, (error) =>
    process.emitWarning(error instanceof Error ? error : String(error), { type: 'LoggerWarning' }),
  );
}
