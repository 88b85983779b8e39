/** Flow control as clients meet it: where requests are put, who waits, who is rejected, and who looks after the objects. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { KubeObject } from '../../../../src/api/index.ts';
import { runQueue } from '../../../../src/server/event-loop/run-queue.ts';
import { FlowController } from '../../../../src/server/flow-control/flow-controller.ts';
import type { FlowTicket } from '../../../../src/server/flow-control/flow-gate.ts';
import { type ApiClient, startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1';
const SCHEMAS = `${FLOW}/flowschemas`;
const LEVELS = `${FLOW}/prioritylevelconfigurations`;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const DUMPS = '/debug/api_priority_and_fairness';
/** Waits three seconds for a version that does not come: a request that runs for as long as a test needs it. */
const SLOW = { resourceVersion: '99999999', resourceVersionMatch: 'NotOlderThan' };

const as = (user: string, ...groups: string[]) => ({
  'Impersonate-User': user,
  ...(groups.length > 0 && { 'Impersonate-Group': groups.join(',') }),
});

const level = (name: string, queueLengthLimit: number) => ({
  metadata: { name },
  spec: {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: 1,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Queue', queuing: { queues: 1, handSize: 1, queueLengthLimit } },
    },
  },
});

const schema = (name: string, levelName: string, user: string) => ({
  metadata: { name },
  spec: {
    matchingPrecedence: 50,
    priorityLevelConfiguration: { name: levelName },
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: user } }],
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
      },
    ],
  },
});

/** The rows of a dump, as columns by name. */
async function dump(client: ApiClient, name: string, query = {}): Promise<Record<string, string>[]> {
  const { body } = await client.ask('GET', `${DUMPS}/${name}`, { query });
  const [head = [], ...rows] = body
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/, */));
  return rows.map((row) => Object.fromEntries(head.map((column, i) => [column, row[i] ?? ''])));
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}

const rowOf = async (client: ApiClient, name: string) =>
  (await dump(client, 'dump_priority_levels')).find((row) => row.PriorityLevelName === name)!;

/** All that kube-apiserver has. */
const FLOW_METRICS = [
  ...['current_executing_requests', 'current_executing_seats', 'current_inqueue_requests', 'current_inqueue_seats'],
  ...['current_limit_seats', 'current_r', 'demand_seats', 'demand_seats_average', 'demand_seats_high_watermark'],
  ...['demand_seats_smoothed', 'demand_seats_stdev', 'dispatch_r', 'dispatched_requests_total', 'epoch_advance_total'],
  ...['latest_s', 'lower_limit_seats', 'next_discounted_s_bounds', 'next_s_bounds', 'nominal_limit_seats'],
  ...['priority_level_request_utilization', 'priority_level_seat_utilization', 'read_vs_write_current_requests'],
  ...['rejected_requests_total', 'request_dispatch_no_accommodation_total', 'request_execution_seconds'],
  ...['request_queue_length_after_enqueue', 'request_wait_duration_seconds', 'seat_fair_frac', 'target_seats'],
  ...['upper_limit_seats', 'watch_count_samples', 'work_estimated_seats'],
];

describe('a server with few seats', () => {
  let server: TestServer;
  let client: ApiClient;

  beforeAll(async () => {
    server = await startTestServer({
      maxRequestsInflight: 10,
      maxMutatingRequestsInflight: 0,
      authorizationMode: 'AlwaysAllow',
    });
    client = server.client;
    await client.create(LEVELS, level('one', 2));
    await client.create(SCHEMAS, schema('one', 'one', 'alice'));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('names the schema and the level of a request in its answer', async () => {
    const uidsOf = async (path: string) =>
      new Map((await client.list(path)).items.map(({ metadata }) => [metadata.uid, metadata.name]));
    const [schemas, levels] = [await uidsOf(SCHEMAS), await uidsOf(LEVELS)];
    const placeOf = async (headers: Record<string, string>, path = CONFIG_MAPS) => {
      const { headers: told } = await client.ask('GET', path, { headers });
      const [s, l] = [told['x-kubernetes-pf-flowschema-uid'], told['x-kubernetes-pf-prioritylevel-uid']];
      return [schemas.get(s as string), levels.get(l as string)];
    };
    expect(await placeOf({})).toEqual(['exempt', 'exempt']);
    expect(await placeOf(as('alice'))).toEqual(['one', 'one']);
    expect(await placeOf(as('system:node:n1', 'system:nodes'))).toEqual(['system-nodes', 'system']);
    expect(await placeOf(as('bob'), '/healthz')).toEqual(['probes', 'exempt']);
    const { headers } = await client.ask('GET', CONFIG_MAPS, { headers: { authorization: 'Bearer bogus' } });
    expect(headers['x-kubernetes-pf-flowschema-uid']).toBeUndefined();
  });

  it('lets one run and two wait, sends the fourth away at once, and a waiting one after a quarter of its time', async () => {
    const ask = (query: Record<string, string>) => client.ask('GET', CONFIG_MAPS, { query, headers: as('alice') });
    const before = await rowOf(client, 'one');
    const slow = ask(SLOW);
    await until(async () => (await rowOf(client, 'one')).ExecutingRequests === '1');
    const waiting = [ask({}), ask({ timeout: '400ms' })];
    await until(async () => (await rowOf(client, 'one')).WaitingRequests === '2');
    const requests = (await dump(client, 'dump_requests', { includeRequestDetails: '1' })).filter(
      (row) => row.PriorityLevelName === 'one',
    );
    expect(requests.map((row) => `${row.QueueIndex} ${row.RequestIndexInQueue} ${row.UserName} ${row.Verb}`)).toEqual([
      '0 0 alice list',
      '0 1 alice list',
      '0 -1 alice list',
    ]);
    const [queue] = (await dump(client, 'dump_queues')).filter((row) => row.PriorityLevelName === 'one');
    expect(queue).toMatchObject({
      Index: '0',
      PendingRequests: '2',
      ExecutingRequests: '1',
      TotalWorkSum: '0.00600000ss',
    });

    const refused = await ask({});
    expect(refused.status).toBe(429);
    expect(refused.body.toString()).toBe('Too many requests, please try again later.\n');
    const { uid } = (await client.get(`${SCHEMAS}/one`)).metadata;
    expect(refused.headers).toMatchObject({
      'retry-after': '1',
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache, private',
      'x-content-type-options': 'nosniff',
      'x-kubernetes-pf-flowschema-uid': uid,
    });
    expect((await waiting[1])?.status).toBe(429);
    expect((await slow).status).toBe(504);
    expect((await waiting[0])?.status).toBe(200);
    const after = await rowOf(client, 'one');
    const grown = (column: string) => Number(after[column]) - Number(before[column]);
    expect([grown('DispatchedRequests'), grown('RejectedRequests'), grown('CancelledRequests')]).toEqual([2, 1, 1]);
    expect(after).toMatchObject({
      IsIdle: 'true',
      WaitingRequests: '0',
      ExecutingRequests: '0',
      TimedoutRequests: '0',
    });

    const text = (await client.ask('GET', '/metrics')).body.toString();
    const of = (name: string, more = '') =>
      new RegExp(`apiserver_flowcontrol_${name}{priority_level="one",flow_schema="one"${more}} (\\d+)`).exec(text)?.[1];
    expect(of('rejected_requests_total', ',reason="queue-full"')).toBe('1');
    expect(of('rejected_requests_total', ',reason="time-out"')).toBe('1');
    expect(of('current_inqueue_requests')).toBe('0');
    expect(of('current_executing_seats')).toBe('0');
    expect(of('request_wait_duration_seconds_count', ',execute="false"')).toBe('1');
    const names = new Set([...text.matchAll(/^# TYPE apiserver_flowcontrol_(\w+)/gm)].map(([, name]) => name));
    expect([...names].sort()).toEqual(FLOW_METRICS);
    expect(text).toMatch(/^apiserver_flowcontrol_next_s_bounds\{priority_level="one",bound="max"\} /m);
    expect(text).toMatch(
      /^apiserver_flowcontrol_read_vs_write_current_requests_count\{phase="waiting",request_kind="mutating"\} /m,
    );
    expect(text).toMatch(/^apiserver_current_inqueue_requests\{request_kind="readOnly"\} \d/m);
    expect(text).toMatch(/^apiserver_request_terminations_total\{verb="LIST"[^}]*code="429"\} [1-9]/m);
  });

  // Well before their time to wait is over, which is when the server would notice by itself.
  it.each([
    ['http1', 'GET'],
    ['http2', 'GET'],
    ['http1', 'DELETE'],
    ['http2', 'DELETE'],
  ] as const)(
    'forgets clients over %s that go while their %s waits or runs',
    async (protocol, method) => {
      const leaving = server.connect({ protocol });
      const gone = new AbortController();
      const ask = (what: string, path: string, query = {}) =>
        leaving.ask(what, path, { query, headers: as('alice'), signal: gone.signal }).catch(() => undefined);
      const slow = ask('GET', CONFIG_MAPS, SLOW);
      await until(async () => (await rowOf(client, 'one')).ExecutingRequests === '1');
      const waiting = [ask(method, `${CONFIG_MAPS}/x`), ask(method, `${CONFIG_MAPS}/x`)];
      await until(async () => (await rowOf(client, 'one')).WaitingRequests === '2');
      gone.abort();
      await Promise.all([slow, ...waiting]);
      await until(async () => (await rowOf(client, 'one')).IsIdle === 'true');
      expect((await client.ask('GET', CONFIG_MAPS, { headers: as('alice') })).status).toBe(200);
    },
    8000,
  );

  it('gives the seat of a watch back as soon as it is initialised', async () => {
    for (let i = 0; i < 3; i++) {
      const watching = client.ask('GET', CONFIG_MAPS, {
        query: { watch: 'true', timeoutSeconds: 2 },
        headers: as('alice'),
      });
      watching.catch(() => {});
    }
    await until(async () => Number((await rowOf(client, 'one')).DispatchedRequests) >= 3);
    await until(async () => (await rowOf(client, 'one')).IsIdle === 'true');
    expect((await client.ask('GET', CONFIG_MAPS, { headers: as('alice') })).status).toBe(200);
  });

  it('does nothing for an event of a watch that runs', async () => {
    const tickets = vi.spyOn(FlowController.prototype, 'ticketFor');
    const turns = vi.spyOn(runQueue, 'turn');
    const looks = vi.spyOn(runQueue, 'mayRun');
    await using watch = await client.watch(CONFIG_MAPS, {}, { headers: as('alice') });
    const isHers = ([{ user }]: Parameters<FlowController['ticketFor']>) => user.username === 'alice';
    const { account } = tickets.mock.results[tickets.mock.calls.findIndex(isHers)]!.value as FlowTicket;
    const told = async (name: string) => {
      await client.create(CONFIG_MAPS, { metadata: { name } });
      await watch.until(({ object }) => object.metadata.name === name);
    };
    await told('first');
    const before = [tickets.mock.calls.length, looks.mock.calls.length, turns.mock.calls.length] as const;
    for (let i = 0; i < 20; i++) await told(`running-${i}`);
    expect(tickets.mock.calls.slice(before[0]).filter(isHers)).toEqual([]);
    expect(looks.mock.calls.slice(before[1]).filter(([charged]) => charged === account)).toEqual([]);
    expect(turns.mock.calls.slice(before[2]).filter(([charged]) => charged === account)).toEqual([]);
    vi.restoreAllMocks();
  });

  it('says in the status of a schema whether its level is there, and follows changes at once', async () => {
    await client.create(SCHEMAS, schema('lost', 'nosuchlevel', 'carol'));
    const danglingOf = async (name: string) =>
      (
        (await client.get(`${SCHEMAS}/${name}`)) as KubeObject & { status?: { conditions?: Record<string, string>[] } }
      ).status?.conditions?.find(({ type }) => type === 'Dangling');
    await until(async () => (await danglingOf('lost'))?.status === 'True');
    expect(await danglingOf('lost')).toMatchObject({
      reason: 'NotFound',
      message:
        'This FlowSchema references the PriorityLevelConfiguration object named "nosuchlevel" but there is no such object',
    });
    expect(await danglingOf('exempt')).toMatchObject({
      status: 'False',
      reason: 'Found',
      message: 'This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists',
    });
    const schemaOf = async () =>
      (await client.ask('GET', CONFIG_MAPS, { headers: as('carol') })).headers['x-kubernetes-pf-flowschema-uid'];
    const { uid } = (await client.get(`${SCHEMAS}/lost`)).metadata;
    await client.create(LEVELS, level('nosuchlevel', 5));
    await until(async () => (await danglingOf('lost'))?.status === 'False');
    expect(await schemaOf()).toBe(uid);
    const { metadata } = await client.get(`${SCHEMAS}/lost`);
    expect(metadata.managedFields).toContainEqual(
      expect.objectContaining({
        manager: 'api-priority-and-fairness-config-consumer-v1',
        operation: 'Apply',
        subresource: 'status',
      }),
    );
  });
});

it('a start sets right what nobody may change, leaves alone what its owner keeps, and removes what is left over', async () => {
  await using server = await startTestServer();
  const { client } = server;
  const change = async (path: string, edit: (object: KubeObject & { spec: Record<string, never> }) => void) => {
    const object = (await client.get(path)) as KubeObject & { spec: Record<string, never> };
    edit(object);
    await client.update(path, object);
  };
  const shares = (object: KubeObject) =>
    (object as unknown as { spec: { limited: { nominalConcurrencyShares: number } } }).spec.limited;
  const annotation = 'apf.kubernetes.io/autoupdate-spec';
  await change(`${LEVELS}/workload-low`, (object) => {
    shares(object).nominalConcurrencyShares = 7;
  });
  await change(`${LEVELS}/system`, (object) => {
    shares(object).nominalConcurrencyShares = 8;
    object.metadata.annotations![annotation] = 'false';
  });
  await change(`${LEVELS}/exempt`, (object) => {
    Object.assign(object.spec, { exempt: { nominalConcurrencyShares: 3, lendablePercent: 20 } });
  });
  const leftOver = level('old', 5);
  await client.create(LEVELS, { ...leftOver, metadata: { name: 'old', annotations: { [annotation]: 'true' } } });
  await client.create(LEVELS, level('mine', 5));
  await client.delete(`${SCHEMAS}/catch-all`);
  await server.restart();
  const after = server.client;
  const levels = new Map((await after.list(LEVELS)).items.map((object) => [object.metadata.name, object]));
  expect(shares(levels.get('workload-low')!).nominalConcurrencyShares).toBe(100);
  expect(levels.get('workload-low')!.metadata.generation).toBe(3);
  expect(shares(levels.get('system')!).nominalConcurrencyShares).toBe(8);
  expect(levels.get('exempt')).toMatchObject({
    spec: { exempt: { nominalConcurrencyShares: 3, lendablePercent: 20 } },
  });
  expect([levels.has('old'), levels.has('mine')]).toEqual([false, true]);
  const catchAll = await after.get(`${SCHEMAS}/catch-all`);
  expect(catchAll.metadata.annotations).toEqual({ [annotation]: 'true' });
  expect(catchAll.metadata.managedFields).toContainEqual(
    expect.objectContaining({ manager: 'api-priority-and-fairness-config-producer-v1', operation: 'Update' }),
  );
});

it.each([
  ['both numbers 0', { maxRequestsInflight: 0, maxMutatingRequestsInflight: 0 }],
  ['the flag', { enablePriorityAndFairness: false }],
])('%s switch flow control off: no headers, no dumps, the objects stay', async (_what, options) => {
  await using server = await startTestServer(options);
  const { headers } = await server.client.ask('GET', CONFIG_MAPS);
  expect(headers['x-kubernetes-pf-flowschema-uid']).toBeUndefined();
  expect((await server.client.ask('GET', `${DUMPS}/dump_queues`)).status).toBe(404);
  expect((await server.client.list(SCHEMAS)).items.length).toBeGreaterThan(10);
});
