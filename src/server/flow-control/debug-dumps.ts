/**
 * The three dumps under `/debug/api_priority_and_fairness/`: levels, queues, requests, as tables of text.
 *
 * Always true: a cell has at least eight characters, a comma ends it, and the last of a row is not padded, so that they
 * read as columns and as comma-separated values.
 */
import type { RequestContext } from '../request/request-context.ts';
import type { FlowRequest } from './fair-queuing/flow-request.ts';
import type { FlowController } from './flow-controller.ts';

const ROOT = '/debug/api_priority_and_fairness/';
const LEAST_WIDTH = 8;
/** A comma and a blank. */
const CELL_END = 2;

const LEVEL_COLUMNS =
  'PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests';
const QUEUE_COLUMNS =
  'PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum';
const REQUEST_COLUMNS =
  'PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency StartTime';
const DETAIL_COLUMNS = 'UserName Verb APIPath Namespace Name APIVersion Resource SubResource';

/** False: the path is not one of these. Any method will do. */
export function handleFlowDump(controller: FlowController, context: RequestContext): boolean {
  if (!context.path.startsWith(ROOT)) return false;
  const text = dumpOf(controller, context.path.slice(ROOT.length), !!context.query.get('includeRequestDetails'));
  if (text === undefined) return false;
  context.send(200, 'text/plain; charset=utf-8', Buffer.from(text));
  return true;
}

function dumpOf(controller: FlowController, name: string, hasDetails: boolean): string | undefined {
  switch (name) {
    case 'dump_priority_levels':
      return table(LEVEL_COLUMNS, levelRows(controller));
    case 'dump_queues':
      return table(QUEUE_COLUMNS, queueRows(controller));
    case 'dump_requests':
      return table(
        hasDetails ? `${REQUEST_COLUMNS} ${DETAIL_COLUMNS}` : REQUEST_COLUMNS,
        requestRows(controller, hasDetails),
      );
    default:
      return undefined;
  }
}

function* levelRows({ levels }: FlowController): Generator<unknown[], void, void> {
  for (const [name, { set, isQuiescing }] of [...levels].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { queuesWithWaiting, isIdle, waiting, executing, dispatched, rejected, cancelled } = set;
    yield [name, queuesWithWaiting, isIdle, isQuiescing, waiting, executing, dispatched, rejected, 0, cancelled];
  }
}

/** Queues that nobody is in are not there. */
function* queueRows({ levels }: FlowController): Generator<unknown[], void, void> {
  for (const [name, { set }] of levels)
    for (const queue of [...set.queues()].sort((a, b) => a.index - b.index)) {
      const { index, length, executing, seatsInUse, nextDispatchR, initialSeatsSum, seatsSum, workSum } = queue;
      const [next, work] = [seatSeconds(nextDispatchR), seatSeconds(workSum)];
      yield [name, index, length, executing, seatsInUse, next, initialSeatsSum, seatsSum, work];
    }
}

function* requestRows(controller: FlowController, hasDetails: boolean): Generator<unknown[], void, void> {
  const now = controller.timer.now();
  const wallMs = Date.now();
  const at = (seconds: number) => new Date(wallMs - (now - seconds) * 1000).toISOString();
  const row = (level: string, request: FlowRequest, index: number) => [
    level,
    request.schemaName,
    request.queueIndex,
    index,
    request.distinguisher,
    at(request.arrivedAt),
    request.initialSeats,
    request.finalSeats,
    `${Number((request.extraSeconds * 1000).toFixed(6))}${request.extraSeconds > 0 ? 'ms' : 's'}`,
    request.state === 'executing' ? at(request.startedAt) : '0001-01-01T00:00:00Z',
    ...(hasDetails ? detailsOf(request) : []),
  ];
  for (const [name, { set }] of controller.levels) {
    for (const queue of set.queues()) {
      let index = 0;
      for (const request of queue.waiting()) yield row(name, request, index++);
    }
    for (const request of set.running) yield row(name, request, -1);
  }
}

function detailsOf({ about }: FlowRequest): unknown[] {
  if (!about) return ['', '', '', '', '', '', '', ''];
  const { user, attributes, path } = about;
  if (attributes.kind === 'path') return [user.username, attributes.verb, path, '', '', '', '', ''];
  const { verb, namespace, name, version, resource, subresource } = attributes;
  return [user.username, verb, path, namespace, name, version, resource, subresource];
}

function seatSeconds(value: number): string {
  return `${value.toFixed(8)}ss`;
}

function table(columns: string, rows: Iterable<unknown[]>): string {
  const cells = [columns.split(' ')];
  for (const row of rows) cells.push(row.map(String));
  const widths = cells[0]!.map(() => LEAST_WIDTH);
  for (const row of cells)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i]!, cell.length + CELL_END);
  const lines = cells.map((row) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : `${cell},`.padEnd(widths[i]!))).join(''),
  );
  return `${lines.join('\n')}\n`;
}
