/**
 * Admission: what it costs where nobody uses it, as creates of the server beside those of one without any plugin; and what
 * one validating webhook on loopback adds to a create, beside what the same round trip adds to the answer of a bare Node
 * server in the same place, by undici as most programs use it. The round trip alone, from the process that measures, is
 * told as well: it lacks the two changes of process that a call out of a third one costs where cores are few.
 *
 * The second is measured on dry runs, one at a time: flushes to disk would be all that one sees.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { Told } from '../../lib/children/bare-hooked-child.ts';
import { type Done, interleave } from '../../lib/measure.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
  valueRow,
} from '../../lib/server-report.ts';
import { Client, ClientPool } from '../load/server-client.ts';
import { endpointOf, GROUPS, preparePods } from '../load/server-data.ts';

export const serverAdmission: ServerBenchmark = { name: 'admission', run };

const WIDTH = 32;
/** Of creates without plugins that are left with those of a default server. */
const UNUSED = { ratio: 0.95 };
/** One round trip may cost 1.3 of a bare one. */
const ROUND_TRIP = { ratio: 1 / 1.3 };
const HOOKED = 'hooked';
const MAPS = '/api/v1/namespaces/default/configmaps';

async function run(context: ServerContext): Promise<ServerRow[]> {
  return [await unused(context), ...(await oneWebhook(context))];
}

async function unused(context: ServerContext): Promise<ServerRow> {
  const { isQuick, signal, say } = context;
  const script = new URL('../../lib/children/bare-admission-child.ts', import.meta.url);
  const [ours, theirs] = [await preparePods(context, 10, GROUPS), await preparePods(context, 10, GROUPS)];
  await using server = await MeasuredProcess.startServer(context, ours.dataDir);
  await using bare = await MeasuredProcess.start(context, script, theirs.dataDir);
  using serverPool = await ClientPool.open(endpointOf(server, ours.dataDir), WIDTH);
  using barePool = await ClientPool.open(endpointOf(bare, theirs.dataDir), WIDTH);
  const sides = { server: { process: server, pool: serverPool }, bare: { process: bare, pool: barePool } };
  let created = 0;
  const data = { text: 'x'.repeat(1000) };
  const create = (client: Client) =>
    client.must('POST', MAPS, Buffer.from(JSON.stringify({ metadata: { name: `new-${created++}` }, data })));
  const names = ['server', 'bare'] as const;
  for (const name of names) await sides[name].pool.run(1000, WIDTH, create, { signal });
  say('admission: creates that it is not used for');
  const phases = await interleave(isQuick ? 2 : 5, names, (name) => {
    const phase = (): Promise<Done> => sides[name].pool.run(isQuick ? 1000 : 3000, WIDTH, create, { signal });
    return sides[name].process.measure(`admission ${name}`, phase);
  });
  const what = 'create configmap, nothing configured; beside: without plugins';
  return phaseRow(what, 'per CPU-s', phases, perCpuSecond, { better: 'higher', target: UNUSED });
}

async function oneWebhook(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say, signal } = context;
  const { dataDir } = await preparePods(context, 10, GROUPS);
  await using server = await MeasuredProcess.startServer(context, dataDir);
  const script = new URL('../../lib/children/hook-child.ts', import.meta.url);
  await using hook = await MeasuredProcess.start(context, script, dataDir);
  const endpoint = endpointOf(server, dataDir);
  const client = await Client.open(endpoint);
  const review = JSON.stringify({ uid: 'x', object: { text: 'x'.repeat(1500) } });
  const told: Told = { dataDir, hookPort: hook.ready.port, review };
  const bareScript = new URL('../../lib/children/bare-hooked-child.ts', import.meta.url);
  await using bare = await MeasuredProcess.start(context, bareScript, JSON.stringify(told));
  const bareClient = await Client.open(endpointOf(bare, dataDir));
  const ca = readFileSync(join(dataDir, 'pki', 'ca.crt'), 'utf8');
  const direct = new Pool(`https://127.0.0.1:${hook.ready.port}`, { connections: 1, connect: { ca } });
  const post = (path: string, body: unknown) => client.must('POST', path, Buffer.from(JSON.stringify(body)));
  for (const name of [HOOKED, 'free']) await post('/api/v1/namespaces', { metadata: { name } });
  const caBundle = Buffer.from(ca).toString('base64');
  await post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'bench' },
    webhooks: [
      {
        name: 'bench.example.com',
        clientConfig: { url: `https://127.0.0.1:${hook.ready.port}/`, caBundle },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': HOOKED } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
      },
    ],
  });
  const body = Buffer.from(JSON.stringify({ metadata: { name: 'x' }, data: { text: 'x'.repeat(500) } }));
  const create = (through: Client, namespace: string) => () =>
    through.must('POST', `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`, body);
  const ways = {
    with: create(client, HOOKED),
    without: create(client, 'free'),
    bareWith: create(bareClient, HOOKED),
    bareWithout: create(bareClient, 'free'),
    direct: async () => {
      const headers = { 'content-type': 'application/json' };
      const { body: answer } = await direct.request({ path: '/?timeout=10s', method: 'POST', headers, body: review });
      await answer.json();
    },
  };
  const count = isQuick ? 300 : 1500;
  const once = async (name: keyof typeof ways): Promise<Done> => {
    const latenciesMs: number[] = [];
    for (let i = 0; i < count && !signal.aborted; i++) {
      const begin = performance.now();
      await ways[name]();
      latenciesMs.push(performance.now() - begin);
    }
    return { operations: latenciesMs.length, latenciesMs };
  };
  const names = ['with', 'without', 'bareWith', 'bareWithout', 'direct'] as const;
  for (const name of names) await once(name); // warm
  say('admission: one webhook');
  const found = await interleave(isQuick ? 3 : 7, names, async (name) => {
    const before = process.cpuUsage();
    const measured = name.startsWith('bare') ? bare : server;
    const phase = await measured.measure(`webhook ${name}`, () => once(name));
    const { user, system } = process.cpuUsage(before);
    // Of a direct round trip this process is the client; its rest before and after is nothing beside it.
    return { ms: phase.p50Ms, cpuMicros: name === 'direct' ? (user + system) / count : phase.cpuMicrosPerOperation };
  });
  client.close();
  bareClient.close();
  await direct.close();
  const added = (of: 'ms' | 'cpuMicros') => ({
    server: found.with.map((one, i) => one[of] - found.without[i]![of]),
    bare: found.bareWith.map((one, i) => one[of] - found.bareWithout[i]![of]),
    direct: found.direct.map((one) => one[of]),
  });
  const [ms, micros] = [added('ms'), added('cpuMicros')];
  const note = 'creates as dry runs, one at a time';
  return [
    valueRow('a validating webhook adds; beside: a round trip to it adds to bare Node', 'ms', ms.server, {
      ...{ bare: ms.bare, target: ROUND_TRIP, note: `medians of ${note}` },
    }),
    valueRow('the same; beside: the round trip alone', 'ms', ms.server, { bare: ms.direct, note }),
    valueRow('CPU that it adds; beside: a round trip to bare Node', 'µs', micros.server, { bare: micros.bare, note }),
    valueRow('CPU that it adds; beside: that of a client', 'µs', micros.server, { bare: micros.direct, note }),
  ];
}
