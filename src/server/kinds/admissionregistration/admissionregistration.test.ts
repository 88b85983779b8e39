import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { type Change, created, faultsOf, updateFaultsOf } from '../kind-tables.testing.ts';

const GROUP = 'admissionregistration.k8s.io';
const rule = { apiGroups: ['g'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] };
const webhook: JsonObject = {
  webhooks: [
    {
      name: 'a.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { service: { namespace: 'd', name: 's' } },
      rules: [rule],
    },
  ],
};
const policy: JsonObject = {
  spec: {
    matchConstraints: { resourceRules: [rule] },
    variables: [{ name: 'n', expression: 'object.metadata.name' }],
    validations: [{ expression: "variables.n != 'x'" }],
  },
};
const mutating: JsonObject = {
  spec: {
    matchConstraints: { resourceRules: [rule] },
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "add", path: "/x", value: 1}]' } }],
  },
};
const binding: JsonObject = {
  spec: { policyName: 'p', validationActions: ['Deny'], paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } },
};

it.each<[kind: string, good: JsonObject]>([
  ['validatingwebhookconfigurations', webhook],
  ['mutatingwebhookconfigurations', webhook],
  ['validatingadmissionpolicies', policy],
  ['mutatingadmissionpolicies', mutating],
  ['validatingadmissionpolicybindings', binding],
])('a good one of %s is accepted, also as an update', async (kind, good) => {
  expect(await faultsOf(`${kind}.${GROUP}`, good)).toEqual([]);
  expect(await updateFaultsOf(`${kind}.${GROUP}`, good)).toEqual([]);
});

const R = 'webhooks[0].rules[0]';
const C = 'webhooks[0].clientConfig';
it.each<[path: string, value: Change[1], want: string[]]>([
  [
    'webhooks.0.name',
    'a.b',
    ['webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots'],
  ],
  [
    'webhooks.0.sideEffects',
    'Some',
    ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
  ],
  [
    'webhooks.0.failurePolicy',
    '',
    ['webhooks[0].failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"'],
  ],
  [
    'webhooks.0.timeoutSeconds',
    31,
    ['webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds'],
  ],
  [
    'webhooks.0.admissionReviewVersions',
    ['v2'],
    ['webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1'],
  ],
  [
    'webhooks.0.admissionReviewVersions',
    ['v1', 'v1'],
    ['webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version'],
  ],
  [
    'webhooks.0.rules.0.operations',
    ['*', 'CREATE'],
    [`${R}.operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`],
  ],
  [
    'webhooks.0.rules.0.operations',
    ['Bogus'],
    [`${R}.operations[0]: Unsupported value: "Bogus": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`],
  ],
  ['webhooks.0.rules.0.apiVersions', [''], [`${R}.apiVersions[0]: Required value`]],
  [
    'webhooks.0.rules.0.resources',
    ['*', 'pods'],
    [
      `${R}.resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`,
    ],
  ],
  [
    'webhooks.0.rules.0.resources',
    ['pods/*', 'pods/status'],
    [`${R}.resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`],
  ],
  [
    'webhooks.0.rules.0.scope',
    'Some',
    [`${R}.scope: Unsupported value: "Some": supported values: "*", "Cluster", "Namespaced"`],
  ],
  ['webhooks.0.clientConfig', {}, [`${C}: Required value: exactly one of url or service is required`]],
  [
    'webhooks.0.clientConfig',
    { url: 'http://a' },
    [`${C}.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`],
  ],
  [
    'webhooks.0.clientConfig',
    { url: 'https://u@h/?q#f' },
    [
      `${C}.url: Invalid value: "u": user information is not permitted in the URL`,
      `${C}.url: Invalid value: "f": fragments are not permitted in the URL`,
      `${C}.url: Invalid value: "q": query parameters are not permitted in the URL`,
    ],
  ],
  ['webhooks.0.clientConfig.service.name', '', [`${C}.service.namespace: Required value`]],
  [
    'webhooks.0.clientConfig.service.path',
    '/a//b',
    [`${C}.service.path: Invalid value: "/a//b": segment[1] may not be empty`],
  ],
  [
    'webhooks.0.clientConfig.service.port',
    65536,
    [`${C}.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive`],
  ],
  [
    'webhooks.0.matchConditions',
    [{ name: 'c', expression: 'a ==' }],
    [
      "webhooks[0].matchConditions[0].expression: Invalid value: \"a ==\": compilation failed: ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | a ==\n | ....^",
    ],
  ],
  [
    'webhooks.0.matchConditions',
    [
      { name: 'c', expression: 'true' },
      { name: 'c', expression: 'true' },
    ],
    ['webhooks[0].matchConditions[1].name: Duplicate value: "c"'],
  ],
])('a webhook with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(`validatingwebhookconfigurations.${GROUP}`, webhook, [path, value])).toEqual(want),
);

it.each<[path: string, value: Change[1], want: string[]]>([
  ['spec.matchConstraints', undefined, ['spec.matchConstraints: Required value']],
  ['spec.matchConstraints.resourceRules', undefined, ['spec.matchConstraints.resourceRules: Required value']],
  [
    'spec.paramKind',
    { apiVersion: 'a/b/c', kind: 'K' },
    ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  ],
  [
    'spec.variables',
    [
      { name: 'n', expression: "''" },
      { name: 'in', expression: 'true' },
    ],
    ['spec.variables[1].name: Invalid value: "in": must be a valid CEL identifier'],
  ],
  [
    'spec',
    {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: 'c', expression: 'variables.x' }],
      validations: [{ expression: 'variables.x' }, { expression: 'object.spec.on' }],
    },
    [
      `spec.matchConditions[0].expression: Invalid value: "variables.x": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.x\n | ^`,
      `spec.validations[0].expression: Invalid value: "variables.x": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.x\n | ^`,
      'spec.validations[1].expression: Invalid value: "object.spec.on": must evaluate to bool but got dyn',
    ],
  ],
  [
    'spec.validations',
    undefined,
    [
      'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
      'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
    ],
  ],
  [
    'spec.validations.0.reason',
    'Bogus',
    [
      'spec.validations[0].reason: Unsupported value: "Bogus": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
  ],
  [
    'spec.validations.0.message',
    'a\nb',
    ['spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks'],
  ],
  [
    'spec.validations.0.messageExpression',
    '1 + 1',
    ['spec.validations[0].messageExpression: Invalid value: "1 + 1": must evaluate to string but got int'],
  ],
  [
    'spec.auditAnnotations',
    [
      { key: 'k', valueExpression: "'v'" },
      { key: 'k', valueExpression: "'v'" },
    ],
    ['spec.auditAnnotations[1].key: Duplicate value: "k"'],
  ],
])('a policy with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(`validatingadmissionpolicies.${GROUP}`, policy, [path, value])).toEqual(want),
);

it.each<[path: string, value: Change[1], want: string[]]>([
  ['spec.mutations', undefined, ['spec.mutations: Required value: mutations must contain at least one item']],
  [
    'spec.mutations.0.patchType',
    'Bogus',
    ['spec.mutations[0].patchType: Unsupported value: "Bogus": supported values: "ApplyConfiguration", "JSONPatch"'],
  ],
  [
    'spec.mutations.0.jsonPatch',
    undefined,
    ['spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch'],
  ],
  ['spec.reinvocationPolicy', '', ['spec.reinvocationPolicy: Required value']],
  [
    'spec.matchConstraints.resourceRules.0.operations',
    ['DELETE'],
    [
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ],
  ],
])('a mutating policy with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(`mutatingadmissionpolicies.${GROUP}`, mutating, [path, value])).toEqual(want),
);

it.each<[path: string, value: Change[1], want: string[]]>([
  ['spec.policyName', '', ['spec.policyName: Required value']],
  [
    'spec.validationActions',
    [],
    ['spec.validationActions: Required value: at least one validation action is required'],
  ],
  [
    'spec.validationActions',
    ['Deny', 'Warn'],
    [
      'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
  ],
  [
    'spec.paramRef.selector',
    {},
    [
      'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
      'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
    ],
  ],
  [
    'spec.paramRef.parameterNotFoundAction',
    'x',
    ['spec.paramRef.parameterNotFoundAction: Unsupported value: "x": supported values: "Deny", "Allow"'],
  ],
])('a binding with %s: %j is refused', async (path, value, want) =>
  expect(await faultsOf(`validatingadmissionpolicybindings.${GROUP}`, binding, [path, value])).toEqual(want),
);

it('what older webhooks say stays allowed', async () => {
  const {
    strategy,
    created: old,
    context,
  } = await created(`validatingwebhookconfigurations.${GROUP}`, webhook, ['webhooks.0.sideEffects', 'Some']);
  expect(await strategy.validate!(structuredClone(old), old, context)).toEqual([]);
});
