/** The priority levels of flow control as objects: seats, queues and flows, as the debug dumps know them. */
import type { JsonObject } from '../../api/index.ts';
import type { FlowController } from '../flow-control/flow-controller.ts';
import type { LevelState } from '../flow-control/priority-level/level-state.ts';
import type { LiveSource } from '../storage/live/live-storage.ts';
import { column, count, flag, group, groups, type LiveKind, text, wideColumn } from './live-kind.ts';
import { liveObject, STARTED_AT, uidOf } from './live-object.ts';

const UID_KIND = 4;
const SHOWN = 500;

const amounts = {
  waiting: count('Requests that wait.'),
  executing: count('Requests that run.'),
  seatsInUse: count('Seats that those hold.'),
};

export const flowLevelKind: LiveKind = {
  kind: 'FlowLevel',
  plural: 'flowlevels',
  shortName: 'fl',
  verbs: ['get', 'list', 'watch'],
  description: 'A priority level of flow control at this moment: its seats, and who waits for them.',
  fields: {
    status: group('Who runs and who waits.', {
      isExempt: flag('Whether it has no limit.'),
      isQuiescing: flag('Whether it is configured no more, and goes when nobody is in it.'),
      seats: group('Its seats.', {
        limit: count('How many it has now, with those borrowed from others; absent: it has no limit.'),
        nominal: count('How many it has by its shares.'),
        inUse: count('How many are held.'),
      }),
      waiting: count('Requests that wait.'),
      executing: count('Requests that run.'),
      dispatched: count('Requests that were given seats so far.'),
      rejected: count('Requests that were rejected so far.'),
      cancelled: count('Requests that left while they waited.'),
      queues: groups('The queues that somebody is in, the longest first; at most 500.', {
        index: count('Its number.'),
        ...amounts,
      }),
      flows: groups('The flows with requests, those with the most waiting first; at most 500.', {
        schema: text('The FlowSchema that they match.'),
        distinguisher: text('The user or namespace that sets this flow apart.'),
        ...amounts,
      }),
      flowCount: count('How many flows there are.'),
    }),
  },
  columns: [
    column('Seats', '.status.seats.limit', 'integer'),
    column('Used', '.status.seats.inUse', 'integer'),
    column('Waiting', '.status.waiting', 'integer'),
    column('Executing', '.status.executing', 'integer'),
    column('Dispatched', '.status.dispatched', 'integer'),
    column('Rejected', '.status.rejected', 'integer'),
    column('Flows', '.status.flowCount', 'integer'),
    wideColumn('Nominal', '.status.seats.nominal', 'integer'),
    wideColumn('Cancelled', '.status.cancelled', 'integer'),
    wideColumn('Quiescing', '.status.isQuiescing', 'boolean'),
  ],
};

/** `controller`: undefined while flow control is off. */
export function flowLevelSource(controller: () => FlowController | undefined): LiveSource {
  const numbers = new Map<string, number>();
  return {
    *items() {
      for (const [name, level] of controller()?.levels ?? []) {
        if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
        const meta = { name, uid: uidOf(UID_KIND, numbers.get(name)!), createdAt: STARTED_AT };
        yield { object: liveObject('FlowLevel', meta, { status: statusOf(level) }) };
      }
    },
  };
}

function statusOf({ set, limits, isExempt, isQuiescing }: LevelState): JsonObject {
  const flows = flowsOf(set);
  const queues = [...set.queues()].map(({ index, length: waiting, executing, seatsInUse }) => ({
    index,
    waiting,
    executing,
    seatsInUse,
  }));
  return {
    isExempt,
    isQuiescing,
    seats: { ...(!isExempt && { limit: set.limit }), nominal: limits.nominal, inUse: set.seatsInUse },
    waiting: set.waiting,
    executing: set.executing,
    dispatched: set.dispatched,
    rejected: set.rejected,
    cancelled: set.cancelled,
    queues: queues.sort((a, b) => b.waiting - a.waiting || a.index - b.index).slice(0, SHOWN),
    flows: flows.slice(0, SHOWN),
    flowCount: flows.length,
  };
}

type Flow = { schema: string; distinguisher: string; waiting: number; executing: number; seatsInUse: number };

function flowsOf(set: LevelState['set']): Flow[] {
  const flows = new Map<string, Flow>();
  const flowOf = (schema: string, distinguisher: string) => {
    const id = `${schema}/${distinguisher}`;
    const flow = flows.get(id) ?? { schema, distinguisher, waiting: 0, executing: 0, seatsInUse: 0 };
    flows.set(id, flow);
    return flow;
  };
  for (const queue of set.queues())
    for (const { schemaName, distinguisher } of queue.waiting()) flowOf(schemaName, distinguisher).waiting++;
  for (const { schemaName, distinguisher, width } of set.running) {
    const flow = flowOf(schemaName, distinguisher);
    flow.executing++;
    flow.seatsInUse += width;
  }
  return [...flows.values()].sort((a, b) => b.waiting - a.waiting || b.executing - a.executing);
}
