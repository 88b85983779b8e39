/** A stream of updates to pods of one server, each on the version that the one before has left: no conflicts. */

import type { ServerContext } from '../../lib/server-report.ts';
import type { Client } from './server-client.ts';
import { PODS, type PodData, podName, updater, versionIn } from './server-data.ts';

/** Resolves to the version that the object has now. */
export type Update = (client: Client, i: number) => Promise<number>;

/** The same pod must not be updated twice at once. */
export async function makeUpdate(context: ServerContext, { versions }: PodData, nodes: number): Promise<Update> {
  const bodyFor = await updater(context, nodes);
  const current = [...versions];
  let count = 0;
  return async (client, i) => {
    const { body } = await client.must('PUT', `${PODS}/${podName(i)}`, bodyFor(i, current[i]!, ++count));
    const version = versionIn(body);
    current[i] = version;
    return version;
  };
}
