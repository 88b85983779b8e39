/**
 * Flow control of one server, put together: the controller that every request passes, fed by the objects of the cluster,
 * and the upkeep of those that every cluster has.
 *
 * Always true: once it is there, it has digested everything that was stored before, and the status of every schema says
 * whether its level exists. Closing leaves no timer and no write behind.
 */
import type { Clock } from '../../api/index.ts';
import type { Rest } from '../rest/rest.ts';
import type { SeatCounter } from '../workers/seat-table.ts';
import { FlowConfiguration } from './flow-configuration.ts';
import { FlowController } from './flow-controller.ts';
import type { SeatObserver } from './flow-gate.ts';
import type { FlowObserver } from './flow-observer.ts';
import { FlowUpkeep } from './upkeep/flow-upkeep.ts';
import type { ResourceSize } from './work-estimate.ts';

export type FlowControlOptions = {
  readonly rest: Rest;
  readonly totalSeats: number;
  readonly seatsOf?: ((level: string) => SeatCounter | undefined) | undefined;
  /** false: another thread of this server looks after the objects. */
  readonly keepsUp?: boolean;
  readonly clock: Clock;
  readonly onSeat: SeatObserver;
  readonly observer?: FlowObserver;
  readonly log: (message: string) => void;
};

export type FlowControl = { readonly controller: FlowController; close(): Promise<void> };

export async function startFlowControl(options: FlowControlOptions): Promise<FlowControl> {
  const { rest, totalSeats, seatsOf, keepsUp = true, clock, onSeat, observer, log } = options;
  const sizeOf = (group: string, version: string, plural: string) => resourceSize(rest, group, version, plural);
  const controller = new FlowController({
    totalSeats,
    sizeOf,
    onSeat,
    ...(seatsOf && { seatsOf }),
    ...(observer && { observer }),
  });
  const configuration = new FlowConfiguration(controller, rest, log);
  const upkeep = new FlowUpkeep(rest, log, () => configuration.tell());
  if (keepsUp) await upkeep.keep();
  configuration.follow();
  if (keepsUp) await configuration.tell();
  if (keepsUp) upkeep.start(clock);
  return {
    controller,
    async close() {
      await upkeep.close();
      await configuration.close();
      controller.close();
    },
  };
}

/** Nobody counts what is not kept in memory: that may be anything. */
const UNCOUNTED: ResourceSize = { count: 1e9, averageBytes: 1_500_000 };

/** Sizes are those of the cache, always true: there is no time after a restart in which nobody knows them. */
function resourceSize({ storages }: Rest, group: string, version: string, plural: string): ResourceSize | undefined {
  const stats = storages.storageIfMade(group, version, plural)?.stats;
  if (stats === 'uncounted') return UNCOUNTED;
  return stats === 'filling' ? undefined : stats;
}
