/** Admission policies with a real kubectl: one that denies with its message, one that warns, one that changes objects. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startTestServer } from '../../../src/testing/index.ts';
import { Kubectl, kubectls } from './kubectl.ts';

const found = kubectls();
if (found.length === 0) it.skip('kubectl (skipped: there is none, and none could be fetched)', () => {});

const POLICIES = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas.example.com}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  variables:
  - {name: most, expression: "int(params.data.most)"}
  validations:
  - expression: "object.spec.replicas <= variables.most"
    messageExpression: "'at most ' + string(variables.most) + ' replicas, not ' + string(object.spec.replicas)"
    reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas.example.com}
spec:
  policyName: replicas.example.com
  validationActions: [Deny]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owner.example.com}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - {expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: "who owns it?"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owner.example.com}
spec: {policyName: owner.example.com, validationActions: [Warn]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: marks.example.com}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username}}}"
  - patchType: JSONPatch
    jsonPatch:
      expression: "[JSONPatch{op: 'add', path: '/data/size', value: string(size(object.data))}]"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: marks.example.com}
spec: {policyName: marks.example.com}
`;

it.each(found.slice(0, 1))(
  'kubectl $version is denied, warned, and finds its objects changed',
  async ({ path }) => {
    const home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    await using server = await startTestServer();
    try {
      const kubectl = new Kubectl(path, server.kubeconfigPath, home);
      await kubectl.run('create', 'configmap', 'limits', '--from-literal=most=3');
      expect(await kubectl.try(['apply', '-f', '-'], POLICIES)).toMatchObject({ code: 0, err: '' });

      const denied = await kubectl.try(['create', 'deployment', 'web', '--image=nginx', '--replicas=5']);
      expect(denied.err).toBe(
        'error: failed to create deployment: deployments.apps "web" is forbidden: ValidatingAdmissionPolicy ' +
          "'replicas.example.com' with binding 'replicas.example.com' denied request: at most 3 replicas, not 5\n",
      );
      await kubectl.run('create', 'deployment', 'web', '--image=nginx', '--replicas=2');
      const scaled = await kubectl.try(['patch', 'deployment', 'web', '-p', '{"spec":{"replicas":4}}']);
      expect(scaled).toMatchObject({ code: 1, err: expect.stringContaining('at most 3 replicas, not 4') });

      const warned = await kubectl.try(['create', 'configmap', 'a', '--from-literal=k=v']);
      expect(warned).toEqual({
        code: 0,
        out: 'configmap/a created\n',
        err: "Warning: Validation failed for ValidatingAdmissionPolicy 'owner.example.com' with binding 'owner.example.com': who owns it?\n",
      });
      const shown = JSON.parse(await kubectl.run('get', 'configmap', 'a', '-o', 'json'));
      expect(shown).toMatchObject({
        metadata: { annotations: { by: expect.any(String) } },
        data: { k: 'v', size: '1' },
      });

      await kubectl.run('delete', 'validatingadmissionpolicybinding', 'replicas.example.com');
      await kubectl.run('scale', 'deployment', 'web', '--replicas=9');
      expect(await kubectl.run('get', 'validatingadmissionpolicies')).toMatch(
        /replicas\.example\.com +1 +v1\/ConfigMap/,
      );
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
  60_000,
);

const MISSPELT = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: misspelt.example.com}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - {expression: object.spec.replicsa > 1}
`;

it.each(found.slice(0, 1))(
  'kubectl $version finds in the status what is wrong with the types of a policy, once per generation',
  async ({ path }) => {
    const home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    await using server = await startTestServer({ checksPolicyTypes: true });
    try {
      const kubectl = new Kubectl(path, server.kubeconfigPath, home);
      const name = 'validatingadmissionpolicy/misspelt.example.com';
      const checked = (generation: number) =>
        kubectl.run('wait', '--timeout=20s', `--for=jsonpath={.status.observedGeneration}=${generation}`, name);
      expect((await kubectl.try(['apply', '-f', '-'], MISSPELT)).code).toBe(0);
      await checked(1);
      const { status } = JSON.parse(await kubectl.run('get', name, '-o', 'json'));
      expect(status).toEqual({
        observedGeneration: 1,
        typeChecking: {
          expressionWarnings: [
            {
              fieldRef: 'spec.validations[0].expression',
              warning:
                "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicsa'\n | object.spec.replicsa > 1\n | ...........^\n",
            },
          ],
        },
      });
      expect((await kubectl.try(['apply', '-f', '-'], MISSPELT.replace('replicsa', 'replicas'))).code).toBe(0);
      await checked(2);
      const after = JSON.parse(await kubectl.run('get', name, '-o', 'json', '--show-managed-fields'));
      expect(after.status).toEqual({ observedGeneration: 2 });
      expect(after.metadata.managedFields).toContainEqual(
        expect.objectContaining({
          manager: 'validatingadmissionpolicy-status',
          operation: 'Apply',
          subresource: 'status',
        }),
      );
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
  60_000,
);
