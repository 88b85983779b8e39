import { expect, it } from 'vitest';
import { attributesOf } from '../auth/authorizer.ts';
import { bootstrapObjects } from '../rbac/bootstrap-objects.ts';
import { parseRequestInfo } from '../request/request-info.ts';
import { readFlowSchema, readPriorityLevel } from './configuration/flow-objects.ts';
import { HandTimer } from './fair-queuing/seat-timer.testing.ts';
import { FlowController, type FlowControllerOptions } from './flow-controller.ts';

const SCHEMAS = bootstrapObjects()
  .filter(({ plural }) => plural === 'flowschemas')
  .map(({ object }) => readFlowSchema(object)!);
const LEVELS = bootstrapObjects()
  .filter(({ plural }) => plural === 'prioritylevelconfigurations')
  .map(({ object }) => readPriorityLevel(object)!);

function controller(options: Partial<FlowControllerOptions> = {}): FlowController {
  const made = new FlowController({ totalSeats: 600, timer: new HandTimer(), ...options });
  made.digest(SCHEMAS, LEVELS);
  return made;
}

const named = (username: string, ...groups: string[]) => ({ username, groups: [...groups, 'system:authenticated'] });
const masters = named('admin', 'system:masters');
const anonymous = { username: 'system:anonymous', groups: ['system:unauthenticated'] };
const kcm = named('system:kube-controller-manager');
const scheduler = named('system:kube-scheduler');
const node = named('system:node:n1', 'system:nodes');
const alice = named('alice');
const account = (namespace: string, name: string) =>
  named(`system:serviceaccount:${namespace}:${name}`, 'system:serviceaccounts', `system:serviceaccounts:${namespace}`);

const LEASES = '/apis/coordination.k8s.io/v1';
const PODS = '/api/v1/namespaces/default/pods';

function asked(method: string, url: string) {
  const { pathname, searchParams } = new URL(url, 'https://x');
  const requestInfo = parseRequestInfo(method, pathname, () => searchParams);
  const attributes = attributesOf(method, pathname, requestInfo, () => searchParams);
  return { path: pathname, query: searchParams, attributes };
}

it.each([
  [masters, 'GET', PODS, 'exempt'],
  [anonymous, 'GET', '/healthz', 'probes'],
  [anonymous, 'GET', '/livez/ping', 'probes'],
  [anonymous, 'GET', '/version', 'global-default'],
  [kcm, 'GET', `${LEASES}/namespaces/kube-system/leases/x`, 'system-leader-election'],
  [kcm, 'GET', `${LEASES}/namespaces/kube-system/leases`, 'kube-controller-manager'],
  [kcm, 'PATCH', `${LEASES}/namespaces/kube-system/leases/x`, 'kube-controller-manager'],
  [account('kube-system', 'ctl'), 'PUT', `${LEASES}/namespaces/foo/leases/x`, 'system-leader-election'],
  [account('kube-system', 'ctl'), 'GET', PODS, 'kube-system-service-accounts'],
  [account('default', 'app'), 'GET', PODS, 'service-accounts'],
  [account('default', 'app'), 'GET', '/healthz', 'probes'],
  [node, 'PATCH', '/api/v1/nodes/n1/status', 'system-node-high'],
  [node, 'PUT', `${LEASES}/namespaces/kube-node-lease/leases/n1`, 'system-node-high'],
  [node, 'GET', PODS, 'system-nodes'],
  [node, 'GET', '/api', 'system-nodes'],
  [scheduler, 'POST', `${PODS}/p/binding`, 'kube-scheduler'],
  [alice, 'GET', PODS, 'global-default'],
  [alice, 'POST', '/healthz', 'global-default'],
  [alice, 'HEAD', '/healthz', 'global-default'],
  [alice, 'GET', '/healthzfoo', 'global-default'],
  [alice, 'GET', '/nosuch', 'global-default'],
  [alice, 'GET', '/metrics', 'global-default'],
  [{ username: 'nobody', groups: [] }, 'GET', PODS, 'catch-all'],
])('$username: %s %s falls into the schema of kube-apiserver', (user, method, url, want) => {
  expect(controller().placementOf(user, asked(method, url).attributes).schema.name).toBe(want);
});

it('a log of a pod needs no leave', () => {
  const { attributes, ...request } = asked('GET', `${PODS}/p/log`);
  expect(controller().ticketFor({ ...request, method: 'GET', user: alice }, attributes, 15)).toBeUndefined();
});

it('without any configuration masters are exempt and all others share all seats in catch-all', () => {
  const flow = new FlowController({ totalSeats: 600, timer: new HandTimer() });
  expect(flow.placementOf(masters, asked('GET', PODS).attributes).schema).toMatchObject({ name: 'exempt', uid: '' });
  const { schema, level } = flow.placementOf(alice, asked('GET', PODS).attributes);
  expect([schema.name, schema.uid, level.set.limit]).toEqual(['catch-all', '', 600]);
});

function ticket(flow: FlowController, user: typeof alice, method = 'GET', url = PODS, waitSeconds = 15) {
  const { attributes, ...request } = asked(method, url);
  return flow.ticketFor({ ...request, method, user }, attributes, waitSeconds)!;
}

const ONE_SEAT_LEVEL = {
  name: 'one',
  uid: 'level-uid',
  shares: 1,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queuing: { kind: 'queue', queues: 1, handSize: 1, queueLengthLimit: 2 },
} as const;
const ONE_SCHEMA = {
  name: 'one',
  uid: 'schema-uid',
  precedence: 50,
  levelName: 'one',
  distinguisher: 'ByUser',
  rules: [
    {
      subjects: [{ kind: 'User', name: 'alice' }],
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
      pathRules: [],
    },
  ],
} as const;

function crowded() {
  const timer = new HandTimer();
  let running = 0;
  const onSeat = (_kind: string, change: 1 | -1) => {
    running += change;
  };
  const flow = controller({ totalSeats: 10, timer, onSeat, wallClock: () => 100 });
  flow.digest([...SCHEMAS, ONE_SCHEMA], [...LEVELS, ONE_SEAT_LEVEL]);
  expect(flow.levels.get('one')!.set.limit).toBe(1);
  return { flow, timer, running: () => running };
}

it('one runs, two wait, a fourth is rejected; a waiting one leaves after its time, with the headers of its level', async () => {
  const { flow, timer, running } = crowded();
  const first = ticket(flow, alice);
  expect(first.enter()).toBe(true);
  expect(first.uids).toEqual({ flowSchemaUid: 'schema-uid', priorityLevelUid: 'level-uid' });
  const second = ticket(flow, alice);
  const third = ticket(flow, alice, 'GET', PODS, 2);
  const [secondIn, thirdIn] = [second.enter(), third.enter()];
  expect(ticket(flow, alice).enter()).toBe(false);
  timer.advance(2);
  expect(await thirdIn).toBe(false);
  expect(third.retryAfterSeconds).toBe(1);
  first.leave();
  first.leave();
  expect(await secondIn).toBe(true);
  expect(running()).toBe(1);
  second.leave();
  expect(running()).toBe(0);
  expect(flow.levels.get('one')!.set.isIdle).toBe(true);
  expect(flow.levels.get('one')!.set.cancelled).toBe(1);
});

it('a client that goes while it waits leaves no seat, no timer and no promise behind', async () => {
  const { flow, timer } = crowded();
  const pending = timer.pending;
  const first = ticket(flow, alice);
  first.enter();
  const second = ticket(flow, alice);
  const entered = second.enter();
  second.giveUp();
  expect(await entered).toBe(false);
  second.leave();
  first.giveUp(); // what runs, runs on
  expect(flow.levels.get('one')!.set.seatsInUse).toBe(1);
  first.leave();
  expect(first.enter()).toBe(false);
  expect(flow.levels.get('one')!.set.isIdle).toBe(true);
  expect(timer.pending).toBe(pending);
});

it('a removed level lives on until nobody is in it', () => {
  const { flow, timer } = crowded();
  const inside = ticket(flow, alice);
  inside.enter();
  flow.digest(SCHEMAS, LEVELS);
  expect(flow.levels.get('one')?.isQuiescing).toBe(true);
  expect(flow.placementOf(alice, asked('GET', PODS).attributes).schema.name).toBe('global-default');
  inside.leave();
  timer.advance(10);
  expect(flow.levels.has('one')).toBe(false);
});

it('a schema whose level does not exist is passed over', () => {
  const flow = controller();
  flow.digest([...SCHEMAS, { ...ONE_SCHEMA, levelName: 'nosuch' }], LEVELS);
  expect(flow.placementOf(alice, asked('GET', PODS).attributes).schema.name).toBe('global-default');
});

it('a level that was lent out gets its seats back with the next look', () => {
  const timer = new HandTimer();
  const flow = controller({ totalSeats: 6, timer });
  const set = flow.levels.get('global-default')!.set;
  expect(set.limit).toBe(0);
  const waiting = ticket(flow, alice);
  waiting.enter();
  expect(set.waiting).toBe(1);
  timer.advance(10);
  expect(set.executing).toBe(1);
});

it('a write that many watch holds seats for them; a watch counts until it is closed', async () => {
  const flow = controller();
  const watches = Array.from({ length: 150 }, () => ticket(flow, alice, 'GET', `${PODS}?watch=1&resourceVersion=5`));
  for (const watch of watches) {
    expect(await watch.enter()).toBe(true);
    watch.leave(); // initialised
  }
  const write = ticket(flow, named('bob'), 'POST', PODS);
  write.enter();
  const [request] = [...flow.levels.get('global-default')!.set.running];
  expect([request?.initialSeats, request?.finalSeats]).toEqual([1, 8]); // what the level allows
  write.leave();
  for (const watch of watches) watch.close();
  expect(flow.watchers.interested({ group: '', resource: 'pods', namespace: 'default', name: '' })).toBe(0);
});
