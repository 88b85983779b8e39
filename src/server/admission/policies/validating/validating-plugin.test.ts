import { describe, expect, it } from 'vitest';
import { isStatusError, type JsonObject, type KubeObject } from '../../../../api/index.ts';
import type { Authorizer } from '../../../auth/authorizer.ts';
import { makeMetrics } from '../../../metrics/metrics.ts';
import { admitted, type TestWrite } from '../../admission.testing.ts';
import { everyConfigMap, type PolicyTable, policyPlugin } from '../policies.testing.ts';
import { validatingMetrics } from '../policy-metrics.ts';

const configMap = (data: JsonObject = {}, metadata: JsonObject = {}): TestWrite => ({
  resource: 'configmaps',
  object: { metadata, data },
});
const rule = (more: JsonObject) => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['*'],
  resources: ['configmaps'],
  ...more,
});

/** The message of the refusal; '' if there was none. */
async function refusal(table: PolicyTable, write: TestWrite): Promise<string> {
  try {
    await admitted(policyPlugin(table), write);
    return '';
  } catch (err) {
    if (!isStatusError(err)) throw err;
    return err.message.replace(/^.* denied request: /s, '');
  }
}

const never: JsonObject = { validations: [{ expression: 'false', message: 'no' }] };

describe('which requests a policy judges', () => {
  it.each<[claim: string, match: JsonObject, write: Partial<TestWrite>, isJudged: boolean]>([
    ['those its rules name', {}, {}, true],
    ['no other resource', {}, { resource: 'secrets' }, false],
    ['no other operation', { resourceRules: [rule({ operations: ['UPDATE'] })] }, {}, false],
    ['subresources only if named', {}, { subresource: 'status' }, false],
    ['subresources by a star', { resourceRules: [rule({ resources: ['configmaps/*'] })] }, { subresource: 'x' }, true],
    ['names', { resourceRules: [rule({ resourceNames: ['a'] })] }, {}, true],
    ['no other names', { resourceRules: [rule({ resourceNames: ['b'] })] }, {}, false],
    ['nothing that is excluded', { excludeResourceRules: [rule({ operations: ['CREATE'] })] }, {}, false],
    ['namespaced objects by scope', { resourceRules: [rule({ scope: 'Namespaced' })] }, {}, true],
    ['no namespaced objects by scope', { resourceRules: [rule({ scope: 'Cluster' })] }, {}, false],
    ['labels of the namespace', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, {}, true],
    ['no other namespace', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, { namespace: 'other' }, false],
    ['labels of the object', { objectSelector: { matchLabels: { a: 'b' } } }, {}, true],
    ['no other object', { objectSelector: { matchLabels: { a: 'c' } } }, {}, false],
  ])('%s', async (_claim, match, write, isJudged) => {
    const policies = { p: { ...never, matchConstraints: { ...everyConfigMap, ...match } } };
    const table = { policies, namespaces: { ns: { tier: 'gold' } } };
    expect(await refusal(table, { ...configMap({}, { labels: { a: 'b' } }), ...write })).toBe(isJudged ? 'no' : '');
  });

  const oldAutoscalers = {
    resourceRules: [rule({ apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'] })],
  };
  it.each<[matchPolicy: string, want: string]>([
    ['Equivalent', 'v1 v2 50'],
    ['Exact', ''],
  ])('another version of the same kind if the policy says %s', async (matchPolicy, want) => {
    const spec = {
      matchConstraints: { ...oldAutoscalers, matchPolicy },
      validations: [
        {
          expression: 'false',
          messageExpression:
            'request.kind.version + " " + request.requestKind.version + " " + string(object.spec.targetCPUUtilizationPercentage)',
        },
      ],
    };
    const target = { type: 'Utilization', averageUtilization: 50 };
    const object = {
      spec: { maxReplicas: 3, metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }], scaleTargetRef: {} },
    };
    const write = { resource: 'horizontalpodautoscalers.autoscaling', object };
    expect(await refusal({ policies: { p: spec } }, write)).toBe(want);
  });

  it('another version is converted once, however many policies ask, and what cannot be converted is refused', async () => {
    const spec = {
      matchConstraints: oldAutoscalers,
      validations: [{ expression: 'object.apiVersion == "autoscaling/v1"' }],
    };
    const write = { resource: 'horizontalpodautoscalers.autoscaling', object: { spec: { scaleTargetRef: {} } } };
    let conversions = 0;
    const convert = async (object: KubeObject) => {
      conversions++;
      return { ...object, apiVersion: 'autoscaling/v1' };
    };
    expect(await refusal({ policies: { p: spec, q: spec, r: spec }, convert }, write)).toBe('');
    expect(conversions).toBe(1);
    const fail = async () => Promise.reject(new Error('no way'));
    const why = 'failed to configure policy: failed to convert object version: no way';
    expect(await refusal({ policies: { p: spec }, convert: fail }, write)).toBe(why);
    expect(await refusal({ policies: { p: { ...spec, failurePolicy: 'Ignore' } }, convert: fail }, write)).toBe('');
  });

  it('a namespace by the labels it is to have', async () => {
    const matchConstraints = {
      resourceRules: [rule({ resources: ['namespaces'] })],
      namespaceSelector: { matchLabels: { a: 'b' } },
    };
    const table = { policies: { p: { ...never, matchConstraints } } };
    const write = (labels: JsonObject) => ({ resource: 'namespaces', object: { metadata: { labels } } });
    expect(await refusal(table, write({ a: 'b' }))).toBe('no');
    expect(await refusal(table, write({}))).toBe('');
  });

  it('nothing that configures admission, and no reviews', async () => {
    const all = rule({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] });
    const table = { policies: { p: { ...never, matchConstraints: { resourceRules: [all] } } } };
    for (const resource of [
      'validatingadmissionpolicies.admissionregistration.k8s.io',
      'mutatingwebhookconfigurations.admissionregistration.k8s.io',
      'subjectaccessreviews.authorization.k8s.io',
    ])
      expect(await refusal(table, { resource, object: {} })).toBe('');
    expect(await refusal(table, { resource: 'nodes', object: {} })).toBe('no');
  });

  it('only what its binding matches too', async () => {
    const bindings = {
      b: {
        policyName: 'p',
        validationActions: ['Deny'],
        matchResources: { objectSelector: { matchLabels: { a: 'b' } } },
      },
    };
    const table = { policies: { p: never }, bindings };
    expect(await refusal(table, configMap({}, { labels: { a: 'b' } }))).toBe('no');
    expect(await refusal(table, configMap())).toBe('');
    expect(await refusal({ policies: { p: never }, bindings: {} }, configMap())).toBe('');
  });
});

describe('what a policy says', () => {
  it('the words, code and reason of kube-apiserver', async () => {
    const validations = [{ expression: 'false', message: 'too much', reason: 'RequestEntityTooLarge' }];
    const write = admitted(policyPlugin({ policies: { p: { validations } } }), configMap());
    const why = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: too much";
    await expect(write).rejects.toMatchObject({
      code: 413,
      status: {
        message: `configmaps "a" is forbidden: ${why}`,
        reason: 'RequestEntityTooLarge',
        details: { name: 'a', kind: 'configmaps', causes: [{ message: why }] },
      },
    });
  });

  it.each<[claim: string, spec: JsonObject, want: string]>([
    ['a condition that is false lets all pass', { matchConditions: [{ name: 'c', expression: 'false' }] }, ''],
    [
      'a condition that fails does not',
      { matchConditions: [{ name: 'c', expression: 'object.x.y' }] },
      'compilation error: must evaluate to bool but got dyn',
    ],
    [
      'a condition that fails at run time does not',
      { matchConditions: [{ name: 'c', expression: 'object.x.y == 1' }] },
      "expression 'object.x.y == 1' resulted in error: no such key: x",
    ],
    [
      'one that is false decides before one that fails',
      {
        matchConditions: [
          { name: 'c', expression: 'object.x == 1' },
          { name: 'd', expression: 'false' },
        ],
      },
      '',
    ],
    [
      'a condition that fails lets pass what may fail',
      { failurePolicy: 'Ignore', matchConditions: [{ name: 'c', expression: 'object.x == 1' }] },
      '',
    ],
    [
      'a validation that fails lets pass what may fail',
      { failurePolicy: 'Ignore', validations: [{ expression: 'object.x == 1' }] },
      '',
    ],
    [
      'a variable that fails is an error of who asks',
      {
        variables: [{ name: 'v', expression: 'object.x' }],
        validations: [{ expression: 'variables.v == 1' }],
      },
      `expression 'variables.v == 1' resulted in error: composited variable "v" fails to evaluate: no such key: x`,
    ],
    [
      'a variable that nobody asks for may fail',
      {
        variables: [{ name: 'v', expression: 'object.x' }],
        validations: [{ expression: 'true || variables.v == 1' }],
      },
      '',
    ],
    [
      'no namespace is to be seen in conditions',
      { matchConditions: [{ name: 'c', expression: 'namespaceObject == null' }] },
      'no',
    ],
    [
      'no rights are to be seen in messages',
      { validations: [{ expression: 'false', messageExpression: 'authorizer' }] },
      'failed expression: false',
    ],
  ])('%s', async (_claim, spec, want) =>
    expect(await refusal({ policies: { p: { ...never, ...spec } } }, configMap())).toBe(want),
  );

  it('an expression may cost so much', async () => {
    const numbers = '[1,2,3,4,5,6,7,8,9]';
    const all = (depth: number): string => (depth === 0 ? 'true' : `${numbers}.all(v${depth}, ${all(depth - 1)})`);
    const expression = all(7);
    expect(await refusal({ policies: { p: { validations: [{ expression }] } } }, configMap())).toBe(
      `expression '${expression}' resulted in error: operation cancelled: actual cost limit exceeded`,
    );
  });

  it('and all together', async () => {
    const numbers = '[1,2,3,4,5,6,7,8,9]';
    const all = (depth: number): string => (depth === 0 ? 'true' : `${numbers}.all(v${depth}, ${all(depth - 1)})`);
    const validations = new Array(50).fill({ expression: all(5) });
    expect(await refusal({ policies: { p: { validations } } }, configMap())).toBe(
      'validation failed due to running out of cost budget, no further validation rules will be run',
    );
  });

  it('a warning, a note for the audit log, and annotations', async () => {
    const spec = {
      validations: [{ expression: 'object.data.ok == "yes"', message: 'not ok' }],
      auditAnnotations: [
        { key: 'size', valueExpression: '"size " + object.data.size' },
        { key: 'none', valueExpression: 'null' },
      ],
    };
    const bindings = { b: { policyName: 'p', validationActions: ['Warn', 'Audit'] } };
    const { warnings, annotations } = await admitted(
      policyPlugin({ policies: { p: spec }, bindings }),
      configMap({ ok: 'no', size: '5' }),
    );
    expect(warnings).toEqual(["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': not ok"]);
    expect(annotations).toEqual({
      'validation.policy.admission.k8s.io/validation_failure':
        '[{"message":"not ok","policy":"p","binding":"b","expressionIndex":0,"validationActions":["Warn","Audit"]}]',
      'p/size': 'size 5',
    });
  });

  it('an annotation that fails refuses', async () => {
    const spec = { auditAnnotations: [{ key: 'k', valueExpression: 'string(object.data.x)' }] };
    const why = "expression 'string(object.data.x)' resulted in error: no such key: x";
    expect(await refusal({ policies: { p: spec } }, configMap())).toBe(why);
    expect(await refusal({ policies: { p: { ...spec, failurePolicy: 'Ignore' } } }, configMap())).toBe('');
  });
});

describe('parameters', () => {
  const paramKind = { apiVersion: 'v1', kind: 'Secret' };
  const secret = (name: string, namespace: string, max: string): JsonObject => ({
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name, namespace, labels: { use: 'limits' } },
    stringData: { max },
  });
  const params = [secret('a', 'ns', '3'), secret('b', 'ns', '5'), secret('a', 'other', '9')];
  const message = '"at most " + params.stringData.max';
  const validations = [{ expression: 'int(object.data.n) <= int(params.stringData.max)', messageExpression: message }];
  const spec = { paramKind, validations };
  const bound = (paramRef: JsonObject) => ({
    policies: { p: spec },
    bindings: { b: { policyName: 'p', validationActions: ['Deny'], paramRef } },
    params,
  });
  it.each<[claim: string, paramRef: JsonObject, n: string, want: string]>([
    ['by name, in the namespace of the request', { name: 'a' }, '4', 'at most 3'],
    ['by name, in a namespace of its own', { name: 'a', namespace: 'other' }, '9', ''],
    ['by labels: each is asked', { selector: { matchLabels: { use: 'limits' } } }, '4', 'at most 3'],
    ['by labels: all hold', { selector: {} }, '3', ''],
    ['none, and that is fine', { name: 'z', parameterNotFoundAction: 'Allow' }, '99', ''],
    [
      'none, and that is not',
      { selector: { matchLabels: { use: 'none' } }, parameterNotFoundAction: 'Deny' },
      '0',
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    ],
  ])('%s', async (_claim, paramRef, n, want) => expect(await refusal(bound(paramRef), configMap({ n }))).toBe(want));

  it('of a cluster-scoped kind have no namespace, and of an unknown kind there are none', async () => {
    const bindings = {
      b: { policyName: 'p', validationActions: ['Deny'], paramRef: { name: 'n', namespace: 'x' } },
    };
    const of = (kind: JsonObject) => ({ policies: { p: { ...spec, paramKind: kind } }, bindings });
    expect(await refusal(of({ apiVersion: 'v1', kind: 'Node' }), configMap())).toBe(
      'failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
    );
    expect(await refusal(of({ apiVersion: 'x.io/v1', kind: 'Y' }), configMap())).toBe(
      "failed to configure policy: failed to find resource referenced by paramKind: 'x.io/v1, Kind=Y'",
    );
  });

  it('of a namespaced kind need a namespace', async () => {
    const matchConstraints = { resourceRules: [rule({ resources: ['nodes'] })] };
    const table = { ...bound({ name: 'a' }), policies: { p: { ...spec, matchConstraints } } };
    expect(await refusal(table, { resource: 'nodes', object: {} })).toBe(
      'failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    );
  });
});

it('an authoriser that has to be waited for is asked once, and the expression goes on', async () => {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    authorize: async (user, attributes) => {
      asked.push(`${user.username} ${attributes.kind === 'resource' ? attributes.resource : attributes.path}`);
      return { allowed: user.username.startsWith('system:'), reason: 'because' };
    },
    rulesFor: () => ({ rules: [] }),
  };
  const pods = 'authorizer.group("").resource("pods").namespace("ns").check("list")';
  const account = pods.replace('authorizer', 'authorizer.serviceAccount("ns", "robot")');
  const validations = [
    { expression: `${account}.allowed() && ${account}.reason() == "because"` },
    { expression: `!${pods}.allowed() && !authorizer.path("/x").check("get").allowed()` },
    { expression: `!${pods}.errored() && ${account}.error() == ""` },
    { expression: 'authorizer.requestResource.check("create").allowed()', message: 'no' },
  ];
  expect(await refusal({ policies: { p: { validations } }, authorizer }, configMap())).toBe('no');
  expect(asked).toEqual(['system:serviceaccount:ns:robot pods', 'u pods', 'u /x', 'u configmaps']);
});

it('nobody may ask for rights three times in one expression: a question costs a third of what it may', async () => {
  const check = 'authorizer.path("/x").check("get").allowed()';
  const expression = `${check} && ${check} && ${check}`;
  expect(await refusal({ policies: { p: { validations: [{ expression }] } } }, configMap())).toBe(
    `expression '${expression}' resulted in error: operation cancelled: actual cost limit exceeded`,
  );
});

it('what is checked is counted as kube-apiserver counts it', async () => {
  const metrics = makeMetrics();
  const policies = {
    p: { validations: [{ expression: 'false' }, { expression: 'object.x == 1' }, { expression: 'true' }] },
  };
  await refusal({ policies, observer: validatingMetrics(metrics) }, configMap());
  const open = { p: { failurePolicy: 'Ignore', validations: [{ expression: 'object.x == 1' }] } };
  await refusal({ policies: open, observer: validatingMetrics(makeMetrics()) }, configMap());
  const lines = (await metrics.text()).split('\n').filter((line) => line.includes('_policy_check_total{'));
  const of = (error: string) =>
    `apiserver_validating_admission_policy_check_total{policy="p",policy_binding="p",error_type="${error}",enforcement_action="deny"} 1`;
  expect(lines).toEqual([of('no_error'), of('invalid_error')]);
});
