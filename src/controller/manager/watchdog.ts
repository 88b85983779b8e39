/**
 * Looks after a manager while it runs: what health has to say is said in the log when it begins and when it ends, and
 * reconciles that are stuck are acted on. Health is the one judge: nothing is logged here that `health()` would not
 * say.
 *
 * Each problem is said once for as long as it lasts, and again when there is another reason for it. With `onStuck: 'exit'` the first stuck reconcile ends the process.
 */
import type { Clock } from '../../api/index.ts';
import type { Problem } from './health.ts';
import type { ManagerLog } from './manager-log.ts';
import type { ControllerHealth } from './manager-options.ts';

/** A reconcile does not end: it ignores its signal, or has run for longer than anybody expects. */
export class StuckError extends Error {
  override readonly name = 'StuckError';
  readonly controller: string;
  readonly key: string;
  constructor(controller: string, key: string) {
    super(`Cannot go on with "${key}" in controller "${controller}": its reconcile does not end`);
    this.controller = controller;
    this.key = key;
  }
}

export type WatchdogOptions = {
  readonly clock: Clock;
  readonly log: ManagerLog;
  readonly problems: () => readonly Problem[];
  readonly controllers: () => readonly ControllerHealth[];
  readonly isFatal: boolean;
  readonly onStuck: (error: StuckError) => void;
};

const LOOK_MS = 1_000;
/** Of one problem, while it lasts: a log is not flooded by texts that never repeat. */
const MOST_REASONS = 10;

export class Watchdog {
  readonly #options: WatchdogOptions;
  /** Reasons that were logged, by what they are about. */
  readonly #said = new Map<string, Set<string>>();
  readonly #stuck = new Set<string>();

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal).catch(() => {}); // it ends here
      if (!signal.aborted) this.look();
    }
  }

  look(): void {
    const { log, problems, controllers } = this.#options;
    const found = problems();
    for (const { about, text } of found) {
      if (this.#isNew(about, text)) log.problem(`${about}${text}`);
    }
    const abouts = new Set(found.map(({ about }) => about));
    for (const about of this.#said.keys()) if (!abouts.has(about) && this.#said.delete(about)) log.wellAgain(about);
    const ids = new Set<string>();
    for (const { name, stuck } of controllers())
      for (const { key } of stuck) {
        ids.add(`${name} ${key}`);
        this.#act(name, key);
      }
    for (const id of this.#stuck) if (!ids.has(id)) this.#stuck.delete(id);
  }

  /** A text in which only numbers differ, seconds and attempts, gives no other reason. */
  #isNew(about: string, text: string): boolean {
    const reason = text.replace(/\d+/g, '0');
    const reasons = this.#said.get(about) ?? new Set();
    if (reasons.has(reason) || reasons.size === MOST_REASONS) return false;
    this.#said.set(about, reasons.add(reason));
    return true;
  }

  #act(controller: string, key: string): void {
    const id = `${controller} ${key}`;
    if (this.#stuck.has(id)) return;
    this.#stuck.add(id);
    const { isFatal, onStuck, log } = this.#options;
    const error = new StuckError(controller, key);
    onStuck(error);
    if (!isFatal) return;
    log.ending(`${error.message}: the process ends`);
    process.exit(1);
  }
}
