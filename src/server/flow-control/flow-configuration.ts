/**
 * Follows the FlowSchemas and PriorityLevelConfigurations of the cluster, as the watch caches see them change, and has
 * flow control digest them.
 *
 * Always true: all changes of one turn are one digest, in the next; an object that cannot be read counts as absent.
 * After each digest the schemas are told whether their level is there; a status that cannot be written is tried again
 * with the next change, or the next minute.
 */
import type { Rest } from '../rest/rest.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import {
  FLOW_CONTROL_GROUP,
  type FlowSchema,
  type PriorityLevel,
  readFlowSchema,
  readPriorityLevel,
} from './configuration/flow-objects.ts';
import type { FlowController } from './flow-controller.ts';
import { DanglingStatus, danglingCondition, saysSo } from './upkeep/dangling-status.ts';

export class FlowConfiguration {
  readonly #controller: FlowController;
  readonly #rest: Rest;
  readonly #log: (message: string) => void;
  readonly #status: DanglingStatus;
  readonly #schemas = new Map<string, { readonly schema: FlowSchema; readonly cached: StoredObject }>();
  readonly #levels = new Map<string, PriorityLevel>();
  #isDue = false;
  #isClosed = false;
  #telling: Promise<void> | undefined;
  #isToldAgain = false;

  constructor(controller: FlowController, rest: Rest, log: (message: string) => void) {
    this.#controller = controller;
    this.#rest = rest;
    this.#log = log;
    this.#status = new DanglingStatus(rest);
  }

  follow(): void {
    const { storages } = this.#rest;
    storages.followedStorageOf(FLOW_CONTROL_GROUP, 'flowschemas').objects.follow((current, previous) => {
      if (previous) this.#schemas.delete(previous.name);
      if (!current) this.#status.forget(previous!.name);
      this.#changed();
      const schema = current && readFlowSchema(current.parse());
      if (schema) this.#schemas.set(schema.name, { schema, cached: current });
    });
    storages
      .followedStorageOf(FLOW_CONTROL_GROUP, 'prioritylevelconfigurations')
      .objects.follow((current, previous) => {
        if (previous) this.#levels.delete(previous.name);
        this.#changed();
        const level = current && readPriorityLevel(current.parse());
        if (level) this.#levels.set(level.name, level);
      });
    this.#digest();
  }

  /** What every schema should say of its level is written, where it does not say so yet. */
  async tell(): Promise<void> {
    if (this.#telling !== undefined) {
      this.#isToldAgain = true;
      return this.#telling;
    }
    this.#telling = this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
    return this.#telling;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#telling;
  }

  #changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.#isClosed) return;
      this.#digest();
      void this.tell();
    });
  }

  #digest(): void {
    this.#controller.digest(
      [...this.#schemas.values()].map(({ schema }) => schema),
      [...this.#levels.values()],
    );
  }

  async #tellAll(): Promise<void> {
    do {
      this.#isToldAgain = false;
      await Promise.all(
        [...this.#schemas.values()].map(async ({ schema, cached }) => {
          if (this.#isClosed) return;
          const condition = danglingCondition(schema.levelName, this.#levels.has(schema.levelName));
          if (saysSo(cached.parse(), condition)) return;
          await this.#status.write(cached, condition).catch((err: Error) => {
            this.#log(`cannot tell the status of flow schema "${schema.name}": ${err.message}`);
          });
        }),
      );
    } while (this.#isToldAgain && !this.#isClosed);
  }
}
