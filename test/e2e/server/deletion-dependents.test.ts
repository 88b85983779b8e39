/** What becomes of dependents: what a deletion says, what was decided before, and what its kind does if nobody says. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';

const labels = { app: 'a' };
const podSpec = { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' };
const template = { metadata: { labels }, spec: { containers: podSpec.containers } };
const bodies: Readonly<Record<string, JsonObject>> = {
  '/api/v1/namespaces/default/replicationcontrollers': { spec: { replicas: 0, template } },
  '/apis/apps/v1/namespaces/default/replicasets': {
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  },
  '/apis/batch/v1/namespaces/default/jobs': { spec: { template: { spec: podSpec } } },
  '/api/v1/namespaces/default/events': { involvedObject: { namespace: 'default', name: 'x' } },
  '/apis/batch/v1/namespaces/default/cronjobs': {
    spec: { schedule: '0 0 * * *', jobTemplate: { spec: { template: { spec: podSpec } } } },
  },
};
const pathOf = (plural: string) => Object.keys(bodies).find((path) => path.endsWith(`/${plural}`))!;
const WARNING = 'child pods are preserved by default when jobs are deleted';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** The finalizers that it stays with, none if it is gone; and the warning. */
async function deleted(plural: string, query: Record<string, string>, finalizers: string[] = []) {
  const path = pathOf(plural);
  const { metadata } = await server.client.create(path, {
    ...bodies[path],
    metadata: { generateName: 'a-', finalizers },
  } as never);
  const answer = await server.client.ask('DELETE', `${path}/${metadata.name}`, { query });
  const kept = await server.client.ask('GET', `${path}/${metadata.name}`);
  const object = kept.status === 200 ? JSON.parse(kept.body.toString()) : undefined;
  return { finalizers: object?.metadata.finalizers ?? [], warning: answer.headers.warning };
}

const orphan = { propagationPolicy: 'Orphan' };
it.each<[plural: string, query: Record<string, string>, before: string[], after: string[]]>([
  ['replicationcontrollers', {}, [], ['orphan']],
  ['replicationcontrollers', {}, ['a.b/c'], ['a.b/c', 'orphan']],
  ['replicationcontrollers', {}, ['foregroundDeletion'], ['foregroundDeletion']],
  ['replicationcontrollers', { propagationPolicy: 'Background' }, [], []],
  ['replicationcontrollers', { orphanDependents: 'false' }, ['orphan'], []],
  ['jobs', {}, [], ['orphan']],
  ['jobs', { propagationPolicy: 'Foreground' }, [], ['foregroundDeletion']],
  ['cronjobs', {}, [], []],
  ['replicasets', {}, [], []],
  ['replicasets', {}, ['orphan'], ['orphan']],
  ['replicasets', orphan, [], ['orphan']],
  ['events', orphan, [], []],
])('one of %s deleted with %j and finalizers %j keeps %j', async (plural, query, before, after) => {
  expect((await deleted(plural, query, before)).finalizers).toEqual(after);
});

it('who deletes a job and leaves its pods to chance is told', async () => {
  expect((await deleted('jobs', {})).warning).toContain(WARNING);
  expect((await deleted('jobs', orphan)).warning).toBeUndefined();
  expect((await deleted('replicationcontrollers', {})).warning).toBeUndefined();
  const all = await server.client.ask('DELETE', pathOf('jobs'));
  expect(all.headers.warning).toContain(WARNING);
});
