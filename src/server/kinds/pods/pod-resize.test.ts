import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { apply, find, refusals } from '../strategy-run.testing.ts';

const pods = find('pods');
const asks = (requests: JsonObject, limits?: JsonObject): JsonObject => ({ requests, ...(limits && { limits }) });
const c = (name: string, resources: JsonObject, more: JsonObject = {}): JsonObject => ({
  name,
  image: 'i',
  resources,
  ...more,
});
const small = asks({ cpu: '1' }, { memory: '1Gi' });
const good: JsonObject = { containers: [c('a', small), c('b', small)], initContainers: [c('first', small)] };
const only = 'only cpu and memory resources';

/** What is said of a change of a pod of this spec, by the subresource. */
async function said(
  spec: JsonObject,
  change: (spec: JsonObject & { containers: JsonObject[]; initContainers: JsonObject[] }) => void,
  status: JsonObject = {},
): Promise<{ errors: string[]; next: KubeObject }> {
  const run = await apply(pods, { spec });
  run.created.status = { ...(run.created.status as JsonObject), ...status };
  const next = structuredClone(run.created);
  change(next.spec as never);
  const made = structuredClone(next);
  run.strategy.keepOther?.(made, run.created, 'resize');
  run.strategy.setDefaults?.(made);
  await run.strategy.prepareUpdate?.(made, run.created, { ...run.context, subresource: 'resize' });
  return { errors: await refusals(run, next, 'resize'), next: made };
}

const specs: Readonly<Record<string, JsonObject>> = {
  good,
  sidecar: { ...good, initContainers: [c('first', small, { restartPolicy: 'Always' })] },
  restarting: {
    ...good,
    initContainers: [c('first', small, { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] })],
  },
  whole: { ...good, resources: asks({ cpu: '4', memory: '4Gi' }, { cpu: '8', memory: '8Gi' }) },
};

it.each<[claim: string, spec: string, change: Parameters<typeof said>[1], want: string[]]>([
  ['of more', 'good', (spec) => (spec.containers[0]!.resources = asks({ cpu: '2' }, { memory: '2Gi' })), []],
  [
    'of what runs before',
    'good',
    (spec) => (spec.initContainers[0]!.resources = asks({ cpu: '2' }, { memory: '2Gi' })),
    [],
  ],
  [
    'of what runs beside',
    'sidecar',
    (spec) => (spec.initContainers[0]!.resources = asks({ cpu: '2' }, { memory: '2Gi' })),
    [],
  ],
  [
    'of what would have to start again',
    'restarting',
    (spec) => (spec.initContainers[0]!.resources = asks({ cpu: '2' }, { memory: '2Gi' })),
    [
      'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
    ],
  ],
  [
    'that takes away',
    'good',
    (spec) => {
      spec.containers[1]!.resources = asks({}, { memory: '1Gi' });
      spec.initContainers[0]!.resources = asks({ cpu: '1', memory: '1Gi' });
    },
    [
      'spec.initContainers[0].resources.limits: Forbidden: resource limits cannot be removed',
      'spec.containers[1].resources.requests: Forbidden: resource requests cannot be removed',
    ],
  ],
  [
    'of other resources',
    'good',
    (spec) => {
      for (const one of [spec.containers[0]!, spec.initContainers[0]!])
        one.resources = asks({ cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' }, { memory: '1Gi' });
    },
    [
      `spec: Forbidden: ${only} are mutable`,
      `spec.initContainers[0]: Forbidden: ${only} for init or sidecar containers are mutable`,
    ],
  ],
  [
    'of a policy',
    'good',
    (spec) => (spec.containers[0]!.resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }]),
    [`spec: Forbidden: ${only} are mutable`],
  ],
  [
    'of the order',
    'good',
    (spec) => spec.containers.reverse(),
    [
      'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
      'spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize',
    ],
  ],
  [
    'of the number',
    'good',
    (spec) => {
      spec.containers.pop();
      spec.initContainers.push(c('second', small));
    },
    [
      'spec.containers: Forbidden: containers may not be added or removed on resize',
      'spec.initContainers: Forbidden: initContainers may not be added or removed on resize',
    ],
  ],
  [
    'of the whole',
    'whole',
    (spec) => (spec.resources = asks({ cpu: '5', memory: '5Gi' }, { cpu: '9', memory: '9Gi' })),
    [],
  ],
  ['to a whole', 'good', (spec) => (spec.resources = asks({ cpu: '4', memory: '4Gi' })), []],
  [
    'that takes away from the whole',
    'whole',
    (spec) => (spec.resources = asks({ cpu: '5', memory: '5Gi' }, { cpu: '9' })),
    ['spec.resources.limits: Forbidden: pod-level resource limits cannot be removed'],
  ],
  [
    'that takes away the whole',
    'whole',
    (spec) => delete spec.resources,
    ['spec.resources: Forbidden: pod-level resources cannot be removed'],
  ],
  [
    'of pages of the whole',
    'whole',
    (spec) =>
      (spec.resources = asks(
        { cpu: '5', memory: '5Gi', 'hugepages-2Mi': '2Mi' },
        { cpu: '8', memory: '8Gi', 'hugepages-2Mi': '2Mi' },
      )),
    [`spec: Forbidden: ${only} are mutable at pod-level`],
  ],
])('a change %s of a pod that is %s', async (_claim, spec, change, want) => {
  expect((await said(specs[spec]!, change)).errors).toEqual(want);
});

it('all else of a pod stays as it was, and what was asked for is there', async () => {
  const { errors, next } = await said(specs.whole!, (spec) => {
    spec.resources = asks({ cpu: '5', memory: '5Gi' }, { cpu: '9', memory: '9Gi' });
    spec.containers[0]!.resources = asks({ cpu: '2' }, { memory: '1Gi' });
    spec.containers[0]!.image = 'other';
    spec.nodeName = 'n';
  });
  expect(errors).toEqual([]);
  expect(next.spec).toMatchObject({
    resources: asks({ cpu: '5', memory: '5Gi' }, { cpu: '9', memory: '9Gi' }),
    containers: [{ name: 'a', image: 'i', resources: { requests: { cpu: '2' } } }, { name: 'b' }],
  });
  expect((next.spec as JsonObject).nodeName).toBeUndefined();
});

it('a node that does not say what containers were given resizes none', async () => {
  const status = (more: JsonObject): JsonObject => ({
    containerStatuses: [{ name: 'a', state: { running: {} }, ...more }],
  });
  expect((await said(good, () => {}, status({}))).errors).toEqual([
    'spec: Forbidden: Pod running on node without support for resize',
  ]);
  expect((await said(good, () => {}, status({ resources: {} }))).errors).toEqual([]);
});
