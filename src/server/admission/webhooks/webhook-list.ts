/**
 * All webhooks of one kind of configuration, in the order in which they act: configurations by name, webhooks as listed.
 *
 * Follows the watch cache of the configurations, so a change is in effect in the turn in which the store tells of it. A
 * configuration that cannot be read is left out and logged.
 */
import type { KubeObject } from '../../../api/index.ts';
import { type Webhook, webhooksOf } from './webhook.ts';

export class WebhookList {
  readonly #byConfiguration = new Map<string, readonly Webhook[]>();
  readonly #log: (line: string) => void;
  #all: readonly Webhook[] = [];

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** Never changed once given out. */
  get all(): readonly Webhook[] {
    return this.#all;
  }

  set(name: string, configuration: KubeObject | undefined): void {
    if (configuration) {
      try {
        this.#byConfiguration.set(name, webhooksOf(configuration));
      } catch (err) {
        this.#byConfiguration.delete(name);
        this.#log(`cannot use webhook configuration ${name}: ${(err as Error).message}`);
      }
    } else this.#byConfiguration.delete(name);
    const names = [...this.#byConfiguration.keys()].sort();
    this.#all = names.flatMap((one) => this.#byConfiguration.get(one)!);
  }
}
