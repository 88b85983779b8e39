/** Flow control with a real kubectl: its objects in tables, a level and a schema for one user, and what he then sees. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startTestServer } from '../../../src/testing/index.ts';
import { Kubectl, kubectls } from './kubectl.ts';

const found = kubectls();
if (found.length === 0) it.skip('kubectl (skipped: there is none, and none could be fetched)', () => {});

const OBJECTS = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: few}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: alice}
spec:
  matchingPrecedence: 60
  priorityLevelConfiguration: {name: few}
  rules:
  - subjects: [{kind: User, user: {name: alice}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`;
const LIST = '/api/v1/namespaces/default/configmaps';
const SLOW = `${LIST}?resourceVersion=99999999&resourceVersionMatch=NotOlderThan`;

it.each(found.slice(0, 1))(
  'kubectl $version makes a level and a schema, and its user is limited',
  async ({ path }) => {
    const home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    await using server = await startTestServer({
      maxRequestsInflight: 10,
      maxMutatingRequestsInflight: 0,
      authorizationMode: 'AlwaysAllow',
    });
    try {
      const kubectl = new Kubectl(path, server.kubeconfigPath, home);
      const both = await kubectl.run('get', 'flowschemas,prioritylevelconfigurations');
      expect(both).toMatch(/flowschema\S*\/catch-all +catch-all +10000 +ByUser +\S+ +False/);
      expect(both).toMatch(/prioritylevelconfiguration\S*\/workload-low +Limited +100 +128 +6 +50/);
      const schemaOf = async () => {
        const { err, out } = await kubectl.try(['get', '--raw', LIST, '--as', 'alice', '-v=8']);
        return /x-kubernetes-pf-flowschema-uid: (\S+)/i.exec(err + out)?.[1];
      };
      const uidOf = (name: string) => kubectl.run('get', 'flowschema', name, '-o', 'jsonpath={.metadata.uid}');
      expect(await schemaOf()).toBe(await uidOf('global-default'));
      expect((await kubectl.try(['apply', '-f', '-'], OBJECTS)).code).toBe(0);
      expect(await kubectl.run('get', 'flowschema', 'alice')).toMatch(/alice +few +60/);
      const uid = await uidOf('alice');
      expect(await schemaOf()).toBe(uid);
      // The level has one seat: while one request runs, another is rejected.
      const headers = { 'Impersonate-User': 'alice' };
      const slow = server.client.ask('GET', SLOW, { headers });
      const dump = '/debug/api_priority_and_fairness/dump_priority_levels';
      const isRunning = async () =>
        /^few, +0, +false, +false, +0, +1,/m.test((await server.client.ask('GET', dump)).body.toString());
      while (!(await isRunning()));
      const seen = await kubectl.try(['get', '--raw', LIST, '--as', 'alice', '-v=8']);
      expect(`${seen.err}${seen.out}`.toLowerCase()).toContain(`x-kubernetes-pf-flowschema-uid: ${uid}`);
      await slow;
      await kubectl.run('get', '--raw', LIST, '--as', 'alice');
      const levels = await kubectl.run('get', '--raw', dump);
      expect(levels).toMatch(/^few, +0, +true, +false, +0, +0, +[1-9]\d*, +[1-9]/m);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
  60_000,
);
