import { describe, expect, it } from 'vitest';
import { isStatusError, type JsonObject } from '../../../../api/index.ts';
import { admitted, type TestWrite } from '../../admission.testing.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { type PolicyTable, policyPlugin } from '../policies.testing.ts';

const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const configMap = (data: JsonObject = {}): TestWrite => ({ resource: 'configmaps', object: { data } });

const everyDeployment = {
  resourceRules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments'] }],
};
const deployment = (containers: JsonObject[]): TestWrite => ({
  resource: 'deployments.apps',
  object: { spec: { selector: { matchLabels: { a: 'b' } }, template: { spec: { containers } } } },
});

async function mutated(table: PolicyTable, write: TestWrite): Promise<JsonObject> {
  const { object } = await admitted(policyPlugin(table), write);
  return object as unknown as JsonObject;
}

/** What the request is refused with. */
async function refusal(spec: JsonObject, write: TestWrite) {
  try {
    await admitted(policyPlugin({ policies: { p: spec } }), write);
    return undefined;
  } catch (err) {
    if (!isStatusError(err)) throw err;
    return { code: err.code, reason: err.status.reason, message: err.message, causes: err.status.details?.causes };
  }
}

describe('apply configurations', () => {
  it('are laid over the object, keyed elements by their keys, and what they bring is defaulted', async () => {
    const expression =
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ' +
      'object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, tty: true}) + ' +
      '[Object.spec.template.spec.containers{name: "sidecar", image: "s"}]}}}}';
    const made = await mutated(
      { policies: { p: { matchConstraints: everyDeployment, mutations: [apply(expression)] } } },
      deployment([{ name: 'c', image: 'i' }]),
    );
    expect(made).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'c', image: 'i', tty: true },
              { name: 'sidecar', image: 's', terminationMessagePath: '/dev/termination-log' },
            ],
          },
        },
      },
    });
  });

  it.each<[expression: string, why: string]>([
    [
      'Object{spec: Object.spec{template: Object.wrong{}}}',
      'type mismatch: unexpected type name "Object.wrong", expected "Object.spec.template", which matches field name path from root Object type',
    ],
    [
      'Object{spec: Object.spec{what: 1}}',
      'error applying patch: failed to convert patch object to typed object: .spec.what: field not declared in schema',
    ],
    [
      'Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {"x": "y"}}}}',
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector',
    ],
    [
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "c", args: ["x"]}]}}}}',
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].args',
    ],
  ])('%s is refused', async (expression, why) => {
    const spec = { matchConstraints: everyDeployment, mutations: [apply(expression)] };
    const found = await refusal(spec, deployment([{ name: 'c' }]));
    expect(found?.message).toBe(`policy 'p' with binding 'p' denied request: ${why}`);
  });
});

describe('JSON patches', () => {
  it('are applied in order, each on what the one before left', async () => {
    const mutations = [
      patch('[JSONPatch{op: "add", path: "/data/b", value: string(size(object.data))}]'),
      patch('[JSONPatch{op: "add", path: "/data/c", value: string(size(object.data))}]'),
      patch('[JSONPatch{op: "test", path: "/data/b", value: "9"}, JSONPatch{op: "remove", path: "/data/b"}]'),
      patch('[JSONPatch{op: "move", from: "/data/a", path: "/data/" + jsonpatch.escapeKey("x/y")}]'),
    ];
    const made = await mutated({ policies: { p: { mutations } } }, configMap({ a: '0' }));
    expect(made.data).toEqual({ b: '1', c: '2', 'x/y': '0' });
  });

  it('may bring objects', async () => {
    const container = 'Object.spec.template.spec.containers{name: "s", image: "i", ports: [{"containerPort": 80}]}';
    const expression = `[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: ${container}}]`;
    const spec = { matchConstraints: everyDeployment, mutations: [patch(expression)] };
    const made = await mutated({ policies: { p: spec } }, deployment([]));
    expect(made).toMatchObject({
      spec: { template: { spec: { containers: [{ name: 's', ports: [{ containerPort: 80, protocol: 'TCP' }] }] } } },
    });
  });

  it('that do not apply refuse the request, all of them told', async () => {
    const mutations = [
      patch('[JSONPatch{op: "remove", path: "/data/x"}]'),
      patch('[JSONPatch{op: "add", path: "/data/y", value: object.data.z}]'),
    ];
    const first =
      "policy 'p' with binding 'p' denied request: JSON Patch: error in remove for path: '/data/x': Unable to remove nonexistent key: x: missing value";
    const second = `policy 'p' with binding 'p' denied request: expression '${mutations[1]!.jsonPatch.expression}' resulted in error: no such key: z`;
    expect(await refusal({ mutations }, configMap({ a: '' }))).toEqual({
      code: 403,
      reason: 'Invalid',
      message: first,
      causes: [{ message: first }, { message: second }],
    });
    expect(await refusal({ mutations, failurePolicy: 'Ignore' }, configMap({ a: '' }))).toBeUndefined();
  });

  it('may not bring fields that there are not', async () => {
    const found = await refusal({ mutations: [patch('[JSONPatch{op: "add", path: "/what", value: 1}]')] }, configMap());
    expect(found).toMatchObject({
      code: 500,
      message: 'Internal error occurred: strict decoding error: unknown field "what"',
    });
  });

  it('may not move the object to another namespace', async () => {
    const expression = '[JSONPatch{op: "add", path: "/metadata/namespace", value: "other"}]';
    expect(await refusal({ mutations: [patch(expression)] }, configMap())).toMatchObject({ code: 400 });
  });
});

it('a policy that cannot be set up keeps the reason of a refusal', async () => {
  const spec = { paramKind: { apiVersion: 'x.io/v1', kind: 'Y' }, mutations: [apply('Object{}')] };
  expect(await refusal(spec, configMap())).toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message:
      "policy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x.io/v1, Kind=Y'",
  });
});

describe('a second run of the mutating phase', () => {
  const counting = (key: string, reinvocationPolicy: string): JsonObject => ({
    reinvocationPolicy,
    mutations: [
      patch(
        `[JSONPatch{op: "add", path: "/data/${key}", value: "${key}" in object.data ? object.data.${key} + "I" : "I"}]`,
      ),
    ],
  });

  it('runs a policy that wants it if another one changed the object after it', async () => {
    const made = await mutated({ policies: { a: counting('a', 'IfNeeded'), b: counting('b', 'Never') } }, configMap());
    expect(made.data).toEqual({ a: 'II', b: 'I' });
  });

  it('runs none that does not want it, and none after which nothing changed', async () => {
    const made = await mutated({ policies: { a: counting('a', 'Never'), b: counting('b', 'IfNeeded') } }, configMap());
    expect(made.data).toEqual({ a: 'I', b: 'I' });
  });

  it('is not asked for by who changes nothing', async () => {
    const runs: boolean[] = [];
    const plugin = policyPlugin({ policies: { p: { mutations: [patch('[]')] } } });
    const seen: AdmissionPlugin = {
      ...plugin,
      admit: (a) => {
        runs.push(a.reinvocation.isSecondRun);
        return plugin.admit!(a);
      },
    };
    await admitted(seen, configMap());
    expect(runs).toEqual([false]);
  });
});
