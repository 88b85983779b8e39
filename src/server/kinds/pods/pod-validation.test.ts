import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { apply, find } from '../strategy-run.testing.ts';

const c = { name: 'c', image: 'x:1' };
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
  "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

it.each<[spec: JsonObject, want: string[]]>([
  [{}, ['spec.containers: Required value']],
  [
    { containers: [{ name: 'Bad_Name', image: '' }] },
    [`spec.containers[0].name: Invalid value: "Bad_Name": ${labelText}`, 'spec.containers[0].image: Required value'],
  ],
  [{ containers: [c, c] }, ['spec.containers[1].name: Duplicate value: "c"']],
  [
    { containers: [c], restartPolicy: 'Sometimes' },
    ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
  ],
  [
    { containers: [{ ...c, ports: [{ containerPort: 70000 }] }] },
    ['spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive'],
  ],
  [
    { containers: [{ ...c, ports: [{ containerPort: 80, protocol: 'XTP' }] }] },
    ['spec.containers[0].ports[0].protocol: Unsupported value: "XTP": supported values: "SCTP", "TCP", "UDP"'],
  ],
  [
    { containers: [{ ...c, volumeMounts: [{ name: 'none', mountPath: '/x' }] }] },
    ['spec.containers[0].volumeMounts[0].name: Not found: "none"'],
  ],
  [
    { containers: [{ ...c, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }] },
    ['spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ],
  [{ containers: [{ ...c, env: [{ value: 'x' }] }] }, ['spec.containers[0].env[0].name: Required value']],
  [
    { containers: [{ ...c, livenessProbe: {} }] },
    ['spec.containers[0].livenessProbe: Required value: must specify a handler type'],
  ],
  [{ containers: [c], volumes: [{ name: 'v', secret: {} }] }, ['spec.volumes[0].secret.secretName: Required value']],
  [
    { containers: [c], tolerations: [{ key: 'k', operator: 'Exists', value: 'v' }] },
    ['spec.tolerations[0].operator: Invalid value: "v": ' + "value must be empty when `operator` is 'Exists'"],
  ],
  [{ containers: [c], preemptionPolicy: '' }, ['spec.preemptionPolicy: Required value']],
  [
    { containers: [{ image: 'i' }], initContainers: [{ image: 'i' }] },
    [
      'spec.containers[0].name: Required value',
      'spec.initContainers[0].name: Required value',
      'spec.initContainers[0].name: Duplicate value: ""',
    ],
  ],
  [
    { containers: [c], activeDeadlineSeconds: 0 },
    ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
  ],
  [
    { containers: [c], initContainers: [{ image: 'i' }, { image: 'i' }] },
    ['spec.initContainers[0].name: Required value', 'spec.initContainers[1].name: Required value'],
  ],
])('a pod with %j is refused', async (spec, want) => {
  const { errors } = await apply(find('pods'), { spec });
  expect(errors).toEqual(want);
});

const asking = (name: string, amount: string): JsonObject => {
  const amounts = { [name]: amount, cpu: '1' };
  return { ...c, resources: { requests: amounts, limits: amounts } };
};

it.each<[spec: JsonObject, want: string[]]>([
  [{ containers: [asking('example.com/gpu', '1')], resources: { limits: { cpu: '1' } } }, []],
  [
    { containers: [asking('memory', '1Gi')], resources: { requests: { memory: '1Mi' } } },
    [
      'spec.resources.requests[memory]: Invalid value: "1Mi": must be greater than or equal to aggregate container requests of 1Gi',
    ],
  ],
  [
    {
      containers: [asking('hugepages-2Mi', '4Mi'), { ...asking('hugepages-2Mi', '4Mi'), name: 'd' }],
      resources: { requests: { cpu: '2', 'hugepages-2Mi': '8Mi' }, limits: { cpu: '2', 'hugepages-2Mi': '4Mi' } },
    },
    [
      'spec.resources.requests: Invalid value: "8Mi": must be equal to hugepages-2Mi limit of 4Mi',
      'spec.resources.limits[hugepages-2Mi]: Invalid value: "4Mi": must be greater than or equal to aggregate container limits of 8Mi',
    ],
  ],
  [
    { os: { name: 'windows' }, containers: [c], resources: { claims: [], requests: { cpu: '1' } } },
    ['spec.resources: Forbidden: may not be set for a windows pod'],
  ],
])('of a pod that asks as a whole, %j, it is said: %j', async (spec, want) =>
  expect((await apply(find('pods'), { spec })).errors).toEqual(want),
);

it('a static pod has no claims', async () => {
  const metadata = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
  const resourceClaims = [{ name: 'c', resourceClaimName: 'c' }, {}];
  const spec = { nodeName: 'n', containers: [c], resourceClaims };
  expect((await apply(find('pods'), { metadata, spec })).errors).toEqual([
    ': Forbidden: static pods do not support resource claims',
    ': Forbidden: static pods do not support resource claims',
  ]);
});
