/**
 * 32 writers on ten objects: each reads one of them, changes it and writes it back on the version it read, and does so again
 * when somebody else was faster. What counts is how often that is, and how long one takes until it has written.
 */
import type { Phase } from '../../lib/server-process.ts';
import {
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
  valueRow,
} from '../../lib/server-report.ts';
import { type Client, ClientPool } from '../load/server-client.ts';
import { preparePods } from '../load/server-data.ts';
import { startPair } from '../load/server-pair.ts';

export const serverConflicts: ServerBenchmark = { name: 'server-conflicts', run };

const WRITERS = 32;
const OBJECTS = 10;
const PATH = '/api/v1/namespaces/default/configmaps';
/** What kube-apiserver was measured with. */
const MOST_CONFLICTS = 1.8;
const MOST_P99_MS = 500;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const rounds = isQuick ? 3 : 5;
  const writes = isQuick ? 1000 : 3000;
  const data = await preparePods(context, 10, 1);
  await using pair = await startPair(context, data);
  using pool = await ClientPool.open(pair.server.endpoint, WRITERS);
  const bodyOf = (i: number) =>
    Buffer.from(
      JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `hot-${i}` }, data: { n: '0' } }),
    );
  await pool.run(OBJECTS, 1, (client, i) => client.must('POST', PATH, bodyOf(i)), { signal });
  let conflicts = 0;
  const write = async (client: Client) => {
    const path = `${PATH}/hot-${Math.floor(Math.random() * OBJECTS)}`;
    for (;;) {
      const object = JSON.parse((await client.must('GET', path)).body.toString()) as { data: { n: string } };
      object.data.n = String(Number(object.data.n) + 1);
      const { status } = await client.request('PUT', path, Buffer.from(JSON.stringify(object)));
      if (status === 200) return;
      if (status !== 409) throw new Error(`Cannot PUT ${path}: ${status}`);
      conflicts++;
    }
  };
  say(`${WRITERS} writers on ${OBJECTS} objects`);
  await pool.run(writes, WRITERS, write, { signal });
  const phases: Phase[] = [];
  const perWrite: number[] = [];
  for (let round = 0; round < rounds; round++) {
    conflicts = 0;
    const phase = () => pool.run(writes, WRITERS, write, { signal });
    phases.push(await pair.server.process.measure('conflicts', phase));
    perWrite.push(conflicts / phases[round]!.operations);
  }
  const what = `${WRITERS} writers on ${OBJECTS} objects`;
  return [
    valueRow(`${what}: conflicts`, 'per write', perWrite, { target: { value: MOST_CONFLICTS } }),
    phaseRow(`${what}: p99`, 'ms', { server: phases }, ({ p99Ms }) => p99Ms, { target: { value: MOST_P99_MS } }),
    phaseRow(`${what}: CPU`, 'µs per write', { server: phases }, ({ cpuMicrosPerOperation }) => cpuMicrosPerOperation),
  ];
}
