/**
 * What a manager says of itself, a line each, in words that need no manual: started, waits for, runs, leads, fails, is
 * stuck, stops. Level 0 is what somebody has to look at, level 1 the rest.
 *
 * Failures are logged with what comes next. In a storm of them only some are: at most `BURST` at once and `PER_SECOND`
 * after that, and the next line says how many were left out. A logger that throws loses its line, and nothing else.
 */
import { type Clock, type LogFields, type Logger, tellSafely, wallNow } from '../../api/index.ts';
import { isApiError, isTransportError } from '../../client/index.ts';
import type { Role } from '../election/role-feed.ts';
import type { WorkOutcome } from '../queue/worker-pool.ts';
import type { ErrorSource } from './manager-options.ts';

const BURST = 50;
const PER_SECOND = 5;
/** What a part says again and again without an end, such as that its server is away, is one line in so long. */
const SAME_MS = 60_000;
const LIFE = 1;

/** Lines on stderr, with their time. */
export function stderrLogger(): Logger {
  return { level: LIFE, log: (_level, message) => console.error(`${new Date(wallNow()).toISOString()} ${message}`) };
}

export class ManagerLog {
  readonly #logger: Logger | undefined;
  readonly #clock: Clock;
  readonly #about: LogFields;
  readonly #prefix: string;
  readonly #last = new Map<string, { readonly text: string; readonly at: number }>();
  #tokens = BURST;
  #hasLed = false;
  #countedAt: number;
  #leftOut = 0;
  #hasWarned = false;

  constructor(logger: Logger | undefined, cluster: string | undefined, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
    this.#about = cluster === undefined ? {} : { cluster };
    this.#prefix = cluster === undefined ? '' : `cluster "${cluster}": `;
    this.#countedAt = clock.now();
  }

  started(controllers: readonly string[], election: string | undefined): void {
    const names = controllers.map((name) => `"${name}"`).join(', ') || 'no controllers yet';
    const leads = election === undefined ? '' : `, campaigning for lease "${election}"`;
    this.#line(LIFE, `manager started: ${names}${leads}`, { controllers });
  }

  running(controller: string): void {
    this.#line(LIFE, `controller "${controller}" runs`, { controller });
  }

  role(role: Role): void {
    if (role.kind === 'following' && !role.leader && !this.#hasLed) return; // nothing is known yet
    this.#hasLed = role.kind === 'leading';
    const text =
      role.kind === 'leading'
        ? `leading (term ${role.token.term})`
        : `not leading${role.leader ? `: "${role.leader}" does` : ''}`;
    this.#line(LIFE, text, { role: role.kind });
  }

  failed(error: unknown, source: ErrorSource, outcome?: WorkOutcome<string>): void {
    if (!outcome && this.#isSame(`${source.part} ${source.controller}`, textOf(error))) return;
    if (!this.#mayTell()) return;
    const { controller, key, part } = source;
    const fields = { ...source, error, ...(outcome && { attempt: outcome.attempt, result: outcome.result }) };
    if (!outcome || controller === undefined) {
      this.#line(0, `${controller === undefined ? part : `controller "${controller}"`}: ${textOf(error)}`, fields);
      return;
    }
    const next =
      outcome.retryAfterMs === undefined ? 'not tried again' : `next try in ${duration(outcome.retryAfterMs)}`;
    const tries = `attempt ${outcome.attempt}, ${next}`;
    this.#line(0, `controller "${controller}": reconcile of "${key}" failed (${tries}): ${textOf(error)}`, fields);
  }

  problem(text: string): void {
    this.#line(0, `not well: ${text}`, {});
  }

  wellAgain(about: string): void {
    this.#line(LIFE, `well again: ${about}`, {});
  }

  ending(text: string): void {
    this.#line(0, text, {});
  }

  life(text: string): void {
    this.#line(LIFE, text, {});
  }

  #isSame(part: string, text: string): boolean {
    const [now, last] = [this.#clock.now(), this.#last.get(part)];
    if (last?.text === text && now - last.at < SAME_MS) return true;
    this.#last.set(part, { text, at: now });
    return false;
  }

  #mayTell(): boolean {
    const now = this.#clock.now();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#countedAt) / 1000) * PER_SECOND);
    this.#countedAt = now;
    if (this.#tokens < 1) {
      this.#leftOut++;
      return false;
    }
    this.#tokens--;
    return true;
  }

  #line(level: number, message: string, fields: LogFields): void {
    const logger = this.#logger;
    const more = level === 0 && this.#leftOut > 0 ? ` (${this.#leftOut} lines before this were left out)` : '';
    if (more) this.#leftOut = 0;
    const tell = (): unknown => {
      if (!logger || level > logger.level) return;
      return logger.log(level, `${this.#prefix}${message}${more}`, { ...this.#about, ...fields });
    };
    tellSafely(tell, (error) => {
      if (this.#hasWarned) return; // once says it
      this.#hasWarned = true;
      process.emitWarning(error instanceof Error ? error : String(error), { type: 'LoggerWarning' });
    });
  }
}

/** With the place in the code where it came from, unless the server or the way to it has said no. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isApiError(error) || isTransportError(error)) return error.message;
  const line = (error.stack ?? '').split('\n').find((text) => text.startsWith('    at '));
  return line ? `${error.message} (${line.trim()})` : error.message;
}

function duration(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`;
}
