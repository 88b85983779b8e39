import { afterEach, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { convertObject } from '../../kinds/conversion.ts';
import { type Metrics, makeMetrics } from '../../metrics/metrics.ts';
import { type Hook, type HookAnswer, type HookRequest, startHook } from '../../outbound/https-hook.testing.ts';
import { OutboundConnections } from '../../outbound/outbound-connections.ts';
import { serviceResolver } from '../../outbound/service-resolver.ts';
import { Registry } from '../../registry/registry.ts';
import { admitted, type TestWrite } from '../admission.testing.ts';
import type { AdmissionPlugin } from '../admission.ts';
import { EquivalentResources } from '../matching/equivalent-resources.ts';
import { WebhookCaller } from './webhook-caller.ts';
import { WebhookList } from './webhook-list.ts';
import { type ConditionsVerdict, WebhookMatcher } from './webhook-matcher.ts';
import { webhookMetrics } from './webhook-metrics.ts';
import { mutatingWebhooks, validatingWebhooks, type WebhookParts } from './webhook-plugins.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

type Review = { request: JsonObject & { uid: string; object: JsonObject & { data?: JsonObject } } };
const reviewOf = ({ body }: HookRequest) => (body as unknown as Review).request;
const respond = (request: HookRequest, response: JsonObject): JsonObject => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: reviewOf(request).uid, allowed: true, ...response },
});
const patch = (...operations: JsonObject[]): JsonObject => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

async function hookWith(answer: Hook['answer']): Promise<Hook> {
  const hook = await startHook(answer);
  open.push(() => hook.close());
  return hook;
}

const RULE = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] };

function webhook(hook: Hook, more: JsonObject = {}): JsonObject {
  return {
    name: 'hook.example.com',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    timeoutSeconds: 5,
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    clientConfig: { url: `${hook.url}/x`, caBundle: hook.caBundle },
    rules: [RULE],
    ...more,
  };
}

function plugin(
  make: (parts: WebhookParts) => AdmissionPlugin,
  configurations: Readonly<Record<string, JsonObject[]>>,
  verdict: ConditionsVerdict = { isMatch: true },
  metrics?: Metrics,
): AdmissionPlugin {
  const connections = new OutboundConnections(
    serviceResolver({ service: async () => undefined, endpointSlices: async () => [] }),
  );
  open.push(() => connections.close());
  const webhooks = new WebhookList((line) => expect.fail(line));
  for (const [name, list] of Object.entries(configurations))
    webhooks.set(name, { kind: 'X', apiVersion: 'v1', metadata: { name }, webhooks: list } as unknown as KubeObject);
  return make({
    webhooks,
    matcher: new WebhookMatcher({
      equivalents: new EquivalentResources(new Registry()),
      judgeConditions: () => verdict,
    }),
    caller: new WebhookCaller(connections),
    convert: convertObject,
    ...(metrics && { metrics: webhookMetrics(metrics) }),
  });
}

const configMap = (data: JsonObject = { k: 'v' }, labels: JsonObject = {}): TestWrite => ({
  resource: 'configmaps',
  object: { metadata: { name: 'a', namespace: 'ns', labels }, data },
  others: { '/namespaces': [{ metadata: { name: 'ns', labels: { team: 'blue' } } }] },
});
const dataOf = ({ object }: { object: KubeObject }) => (object as unknown as { data: JsonObject }).data;

it('a validating webhook is sent the review and lets the object pass, with its warnings and annotations', async () => {
  const hook = await hookWith((request) =>
    respond(request, { warnings: ['careful', 'li\nne', ''], auditAnnotations: { why: 'so' } }),
  );
  const { warnings, annotations } = await admitted(plugin(validatingWebhooks, { c: [webhook(hook)] }), configMap());
  expect(warnings).toEqual(['careful']);
  expect(annotations).toEqual({ 'hook.example.com/why': 'so' });
  expect(reviewOf(hook.requests[0]!)).toMatchObject({
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    name: 'a',
    namespace: 'ns',
    operation: 'CREATE',
    oldObject: null,
    dryRun: false,
  });
});

it.each<[status: JsonObject | undefined, code: number, message: string]>([
  [undefined, 400, 'admission webhook "hook.example.com" denied the request without explanation'],
  [{ message: 'no' }, 400, 'admission webhook "hook.example.com" denied the request: no'],
  [{ message: 'no', code: 403 }, 403, 'admission webhook "hook.example.com" denied the request: no'],
  [{ reason: 'Forbidden', code: 200 }, 400, 'admission webhook "hook.example.com" denied the request: Forbidden'],
])('a refusal with status %j is a %i', async (status, code, message) => {
  const hook = await hookWith((request) => respond(request, { allowed: false, ...(status && { status }) }));
  // Whatever its policy: a refusal is no failure.
  const refusing = plugin(validatingWebhooks, { c: [webhook(hook, { failurePolicy: 'Ignore' })] });
  await expect(admitted(refusing, configMap())).rejects.toMatchObject({ code, status: { message } });
});

it('mutating webhooks act by the names of their configurations, each on what the one before made', async () => {
  const add = (mark: string) => (request: HookRequest) => {
    const { data = {} } = reviewOf(request).object;
    return respond(request, patch({ op: 'add', path: '/data/seen', value: `${data.seen ?? ''}${mark}` }));
  };
  const [one, two, three] = [await hookWith(add('1')), await hookWith(add('2')), await hookWith(add('3'))];
  const made = plugin(mutatingWebhooks, {
    b: [webhook(three!)],
    a: [webhook(one!, { name: 'z.example.com' }), webhook(two!)],
  });
  const result = await admitted(made, configMap());
  expect(dataOf(result)).toEqual({ k: 'v', seen: '123' });
  expect(result.annotations['mutation.webhook.admission.k8s.io/round_0_index_1']).toBe(
    '{"configuration":"a","webhook":"hook.example.com","mutated":true}',
  );
});

it('a webhook is called once more if it wants that, was called, and something changed after it', async () => {
  const once = (key: string) => (request: HookRequest) =>
    respond(
      request,
      reviewOf(request).object.data?.[key] ? {} : patch({ op: 'add', path: `/data/${key}`, value: 'yes' }),
    );
  const [first, second, last] = [await hookWith(once('x')), await hookWith(once('y')), await hookWith(once('x'))];
  const again = { reinvocationPolicy: 'IfNeeded' };
  const made = plugin(mutatingWebhooks, {
    c: [
      webhook(first!, { name: 'a.example.com', ...again }),
      webhook(second!),
      webhook(last!, { name: 'b.example.com', ...again }),
    ],
  });
  expect(dataOf(await admitted(made, configMap()))).toEqual({ k: 'v', x: 'yes', y: 'yes' });
  expect([first, second, last].map((hook) => hook!.requests.length)).toEqual([2, 1, 1]);
});

it.each<[what: string, answer: (request: HookRequest) => HookAnswer, text: string]>([
  [
    'no response',
    () => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }),
    'received invalid webhook response: webhook response was absent',
  ],
  [
    'another uid',
    (request) => respond(request, { uid: 'x' }),
    'received invalid webhook response: expected response.uid=',
  ],
  [
    'another version',
    (request) => ({ ...respond(request, {}), apiVersion: 'admission.k8s.io/v1beta1' }),
    'failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion',
  ],
  [
    'a type that does not fit',
    (request) => respond(request, { allowed: 'yes' }),
    'failed to call webhook: json: cannot unmarshal string into Go struct field',
  ],
  [
    'a patch without a type',
    (request) => respond(request, { patch: 'W10=' }),
    'webhook returned response.patch but not response.patchType',
  ],
  [
    'a type without a patch',
    (request) => respond(request, { patchType: 'JSONPatch' }),
    'webhook returned response.patchType but not response.patch',
  ],
  [
    'another patch',
    (request) => respond(request, { ...patch({}), patchType: 'Merge' }),
    'unsupported patch type "Merge"',
  ],
  [
    'no JSON in a patch',
    (request) => respond(request, { patchType: 'JSONPatch', patch: 'ew==' }),
    'received undecodable patch in webhook response: unexpected end of JSON input',
  ],
  [
    'an error',
    () => ({ raw: 'broken', status: 500, type: 'text/plain' }),
    'failed to call webhook: an error on the server ("broken")',
  ],
])('%s fails the request, or is passed over if the webhook says so', async (_what, answer, text) => {
  const hook = await hookWith(answer);
  const lead = 'Internal error occurred: failed calling webhook "hook.example.com": ';
  const failing = plugin(mutatingWebhooks, { c: [webhook(hook)] });
  await expect(admitted(failing, configMap())).rejects.toMatchObject({
    code: 500,
    message: expect.stringContaining(lead),
  });
  await expect(admitted(failing, configMap())).rejects.toThrow(text);
  const passing = plugin(mutatingWebhooks, { c: [webhook(hook, { failurePolicy: 'Ignore' })] });
  const { annotations } = await admitted(passing, configMap());
  expect(annotations['failed-open.mutation.webhook.admission.k8s.io/round_0_index_0']).toBe('hook.example.com');
});

it.each<[what: string, write: TestWrite, answer: JsonObject, want: JsonObject]>([
  [
    'does not apply',
    configMap(),
    patch({ op: 'remove', path: '/data/missing' }),
    { code: 500, message: expect.stringContaining('/data/missing') },
  ],
  [
    'makes it what its kind cannot be',
    configMap(),
    patch({ op: 'replace', path: '/data', value: 'x' }),
    { code: 500, message: expect.stringMatching(/^Internal error occurred: json: cannot unmarshal string /) },
  ],
  [
    'makes it an object of another kind',
    configMap(),
    patch({ op: 'replace', path: '/kind', value: 'Secret' }),
    { code: 500, message: 'converting (v1.Secret) to (core.ConfigMap): unknown conversion' },
  ],
  [
    'makes it an object of a version that is not there',
    configMap(),
    patch({ op: 'replace', path: '/apiVersion', value: 'v2' }),
    { code: 500, message: 'Internal error occurred: no kind "ConfigMap" is registered for version "v2"' },
  ],
  [
    'makes it no object',
    configMap(),
    patch({ op: 'replace', path: '', value: [] }),
    { code: 500, message: expect.stringMatching(/cannot unmarshal array into Go value of type struct \{ APIVersion /) },
  ],
  [
    'moves it to another namespace',
    configMap(),
    patch({ op: 'replace', path: '/metadata/namespace', value: 'x' }),
    { code: 400 },
  ],
  [
    'changes what is deleted',
    { resource: 'configmaps', operation: 'DELETE', old: { metadata: { name: 'a' } } },
    patch({ op: 'add', path: '/data', value: {} }),
    { code: 500, message: expect.stringContaining('not supported for this operation') },
  ],
] as never)('a patch that %s fails the request whatever the policy', async (_what, write, answer, want) => {
  const hook = await hookWith((request) => respond(request, answer));
  const made = plugin(mutatingWebhooks, { c: [webhook(hook, { failurePolicy: 'Ignore' })] });
  await expect(admitted(made, write)).rejects.toMatchObject(want);
});

it('an object that says its type no more is still of it', async () => {
  const took = patch({ op: 'remove', path: '/kind' }, { op: 'remove', path: '/apiVersion' });
  const hook = await hookWith((request) => respond(request, took));
  const { object } = await admitted(plugin(mutatingWebhooks, { c: [webhook(hook)] }), configMap());
  expect(object).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
});

it.each([null, []])('a patch of %j changes nothing', async (none) => {
  const text = Buffer.from(JSON.stringify(none)).toString('base64');
  const hook = await hookWith((request) => respond(request, { patchType: 'JSONPatch', patch: text }));
  expect(dataOf(await admitted(plugin(mutatingWebhooks, { c: [webhook(hook)] }), configMap()))).toEqual({ k: 'v' });
});

it('validating webhooks are called at once, and the first refusal is told when all have answered', async () => {
  let isLast = false;
  const slow = await hookWith(async (request) => {
    while (fast.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    isLast = true;
    return respond(request, { allowed: false, status: { message: 'slow' } });
  });
  const fast: Hook = await hookWith((request) => respond(request, { allowed: false, status: { message: 'fast' } }));
  const made = plugin(validatingWebhooks, { c: [webhook(slow, { name: 'slow.example.com' }), webhook(fast)] });
  await expect(admitted(made, configMap())).rejects.toThrow(/denied the request: (fast|slow)/);
  expect(isLast).toBe(true);
});

it.each<[what: string, more: JsonObject, write: TestWrite, isCalled: boolean]>([
  ['the labels of the namespace', { namespaceSelector: { matchLabels: { team: 'blue' } } }, configMap(), true],
  ['other labels of the namespace', { namespaceSelector: { matchLabels: { team: 'red' } } }, configMap(), false],
  ['the labels of the object', { objectSelector: { matchLabels: { a: 'b' } } }, configMap({}, { a: 'b' }), true],
  ['no labels of the object', { objectSelector: { matchLabels: { a: 'b' } } }, configMap(), false],
  ['another operation', { rules: [{ ...RULE, operations: ['UPDATE'] }] }, configMap(), false],
  ['another scope', { rules: [{ ...RULE, scope: 'Cluster' }] }, configMap(), false],
  ['a subresource', { rules: [{ ...RULE, resources: ['configmaps/status'] }] }, configMap(), false],
  [
    'configurations of webhooks',
    {},
    { resource: 'validatingwebhookconfigurations.admissionregistration.k8s.io', object: {} },
    false,
  ],
])('whether a webhook is called depends on %s', async (_what, more, write, isCalled) => {
  const hook = await hookWith((request) => respond(request, {}));
  await admitted(plugin(validatingWebhooks, { c: [webhook(hook, more)] }), write);
  expect(hook.requests.length).toBe(isCalled ? 1 : 0);
});

it('an equivalent resource is converted for the webhook, and what it patches is converted back', async () => {
  const hook = await hookWith((request) =>
    respond(request, patch({ op: 'replace', path: '/spec/targetCPUUtilizationPercentage', value: 50 })),
  );
  const rules = [
    {
      operations: ['CREATE'],
      apiGroups: ['autoscaling'],
      apiVersions: ['v1'],
      resources: ['horizontalpodautoscalers'],
    },
  ];
  const target = { type: 'Utilization', averageUtilization: 80 };
  const write: TestWrite = {
    resource: 'horizontalpodautoscalers.autoscaling',
    object: {
      metadata: { name: 'a', namespace: 'ns' },
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' },
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
      },
    },
  };
  const { object } = await admitted(plugin(mutatingWebhooks, { c: [webhook(hook, { rules })] }), write);
  expect(reviewOf(hook.requests[0]!)).toMatchObject({
    kind: { version: 'v1' },
    requestKind: { version: 'v2' },
    object: { apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 80 } },
  });
  expect(object).toMatchObject({
    apiVersion: 'autoscaling/v2',
    spec: { metrics: [{ resource: { target: { averageUtilization: 50 } } }] },
  });
  const exact = plugin(mutatingWebhooks, { c: [webhook(hook, { rules, matchPolicy: 'Exact' })] });
  await admitted(exact, write);
  expect(hook.requests.length).toBe(1);
});

it('conditions that are false skip a webhook; those that fail refuse the request, or skip one that fails open', async () => {
  const hook = await hookWith((request) => respond(request, {}));
  const conditional = (more: JsonObject, verdict: ConditionsVerdict) =>
    plugin(
      validatingWebhooks,
      { c: [webhook(hook, { matchConditions: [{ name: 'a', expression: 'x' }], ...more })] },
      verdict,
    );
  await admitted(conditional({}, { isMatch: false }), configMap());
  const broken = { isMatch: false, error: "expression 'x' resulted in error: no such key: y" };
  await expect(admitted(conditional({}, broken), configMap())).rejects.toMatchObject({
    code: 403,
    message: `configmaps "a" is forbidden: ${broken.error}`,
  });
  await admitted(conditional({ failurePolicy: 'Ignore' }, broken), configMap());
  expect(hook.requests.length).toBe(0);
});

it('a dry run is not sent to webhooks that may have side effects', async () => {
  const hook = await hookWith((request) => respond(request, {}));
  const old = plugin(validatingWebhooks, { c: [webhook(hook, { sideEffects: 'Some' })] });
  await expect(admitted(old, { ...configMap(), isDryRun: true })).rejects.toMatchObject({
    code: 400,
    message: 'admission webhook "hook.example.com" does not support dry run',
  });
  await admitted(plugin(validatingWebhooks, { c: [webhook(hook)] }), { ...configMap(), isDryRun: true });
  expect(hook.requests.map((request) => reviewOf(request).dryRun)).toEqual([true]);
});

it.each<[sideEffects: string, isDryRun: boolean, asked: number]>([
  ['None', false, 3],
  ['NoneOnDryRun', true, 3],
  ['NoneOnDryRun', false, 2],
  ['Some', false, 2],
])(
  'a webhook of sideEffects %s (dry run: %s) that dies of a review on a kept connection is asked %i times',
  async (...row) => {
    const [sideEffects, isDryRun, asked] = row;
    const known = new Set<unknown>();
    const hook = await hookWith((request) => {
      if (known.has(request.connection)) request.connection.destroy();
      known.add(request.connection);
      return respond(request, {});
    });
    const asking = plugin(validatingWebhooks, { c: [webhook(hook, { sideEffects })] });
    await admitted(asking, { ...configMap(), isDryRun });
    const again = admitted(asking, { ...configMap(), isDryRun });
    if (asked === 3) await again;
    else await expect(again).rejects.toThrow('failed calling webhook "hook.example.com"');
    expect(hook.requests).toHaveLength(asked);
  },
);

it('what webhooks do is counted: calls, refusals, failures that were passed over, conditions', async () => {
  const metrics = makeMetrics();
  const hook = await hookWith((request) => respond(request, { allowed: false, status: { code: 403 } }));
  const conditions = { matchConditions: [{ name: 'a', expression: 'x' }] };
  await admitted(
    plugin(validatingWebhooks, { c: [webhook(hook, conditions)] }, { isMatch: false }, metrics),
    configMap(),
  );
  const told = await metrics.text();
  const about = 'name="hook.example.com",kind="webhook",type="validating",operation="CREATE"';
  expect(told).toContain(`apiserver_admission_match_condition_exclusions_total{${about}} 1`);
  const others = makeMetrics();
  const refusing = plugin(validatingWebhooks, { c: [webhook(hook)] }, { isMatch: true }, others);
  await expect(admitted(refusing, configMap())).rejects.toThrow('denied');
  const call = 'name="hook.example.com",type="validating",operation="CREATE"';
  expect(await others.text()).toContain(
    `apiserver_admission_webhook_rejection_count{${call},error_type="no_error",rejection_code="403"} 1`,
  );
  const open = makeMetrics();
  await hook.close();
  const passing = plugin(
    mutatingWebhooks,
    { c: [webhook(hook, { failurePolicy: 'Ignore' })] },
    { isMatch: true },
    open,
  );
  await admitted(passing, configMap());
  const text = await open.text();
  expect(text).toContain('apiserver_admission_webhook_fail_open_count{name="hook.example.com",type="admit"} 1');
  expect(text).toMatch(/apiserver_admission_webhook_request_total\{.*code="503",rejected="false"\} 1/);
});
