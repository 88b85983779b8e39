import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { apply, find, refusals } from '../strategy-run.testing.ts';

const ended = (exitCode: number): JsonObject => ({ terminated: { exitCode } });
const again = 'may not be transitioned to non-terminated state';

/** What is said when the status of a pod of this spec becomes `next` after it was `before`. */
async function said(spec: JsonObject, next: JsonObject, before: JsonObject = {}): Promise<string[]> {
  const containers = [{ name: 'a', image: 'i', resources: { requests: { cpu: '1', 'example.com/gpu': '1' } } }];
  const run = await apply(find('pods'), { spec: { containers, ...spec } });
  const { qosClass } = run.created.status as JsonObject;
  run.created.status = { qosClass: qosClass!, ...before };
  return refusals(run, { ...run.created, status: { qosClass: qosClass!, ...next } } as unknown as KubeObject, 'status');
}

it.each<[status: JsonObject, want: string[]]>([
  [{ observedGeneration: -1 }, ['status.observedGeneration: Invalid value: -1: must be a non-negative integer']],
  [
    { conditions: [{ type: 'A', status: 'True', observedGeneration: -2 }] },
    ['status.conditions[0].observedGeneration: Invalid value: -2: must be a non-negative integer'],
  ],
  [{ nominatedNodeName: 'n' }, []],
  [
    { podIPs: [{ ip: '10.0.0.1' }, { ip: 'x' }] },
    [
      'status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x',
      expect.stringContaining('may specify no more than one IP for each IP family'),
    ],
  ],
])('of a status %j it is said: %j', async (status, want) => expect(await said({}, status)).toEqual(want));

it('a pod that runs on a node is nominated for no other', async () => {
  const path = 'status.nominatedNodeName';
  expect(await said({ nodeName: 'n' }, { nominatedNodeName: 'm' })).toEqual([
    `${path}: Forbidden: may not be set on pods that are already bound to a node`,
  ]);
  expect(await said({ nodeName: 'n' }, { nominatedNodeName: 'm' }, { nominatedNodeName: 'm' })).toEqual([]);
});

const container = (more: JsonObject): JsonObject => ({ containers: [{ name: 'a', image: 'i', ...more }] });
const rule = (action: string, operator: string, ...values: number[]): JsonObject => ({
  action,
  exitCodes: { operator, values },
});
const ruled = (...restartPolicyRules: JsonObject[]): JsonObject => ({
  restartPolicy: 'Never',
  ...container({ restartPolicy: 'Never', restartPolicyRules }),
});

it.each<[spec: JsonObject, code: number, isAllowed: boolean]>([
  [{ restartPolicy: 'Always' }, 0, true],
  [{ restartPolicy: 'OnFailure' }, 0, false],
  [{ restartPolicy: 'OnFailure' }, 1, true],
  [{ restartPolicy: 'Never' }, 1, false],
  [{ restartPolicy: 'Always', ...container({ name: 'other' }) }, 1, false],
  [{ restartPolicy: 'Always', ...container({ restartPolicy: 'Never' }) }, 1, false],
  [{ restartPolicy: 'Never', ...container({ restartPolicy: 'OnFailure' }) }, 1, true],
  [ruled(rule('Restart', 'In', 4, 5)), 5, true],
  [ruled(rule('Restart', 'In', 4, 5)), 6, false],
  [ruled(rule('Restart', 'NotIn', 4, 5)), 6, true],
  [ruled(rule('RestartAllContainers', 'In', 4)), 6, true],
])('with %j a container that ended with %i starts again: %j', async (spec, code, isAllowed) => {
  const [next, before] = [
    { containerStatuses: [{ name: 'a' }] },
    { containerStatuses: [{ name: 'a', state: ended(code) }] },
  ];
  expect(await said(spec, next, before)).toEqual(
    isAllowed ? [] : [`status.containerStatuses[0].state: Forbidden: ${again}`],
  );
});

it('what helps to debug ends for good', async () => {
  const [next, before] = [
    { ephemeralContainerStatuses: [{ name: 'a' }] },
    { ephemeralContainerStatuses: [{ name: 'a', state: ended(1) }] },
  ];
  expect(await said({ restartPolicy: 'Always' }, next, before)).toEqual([
    `status.ephemeralContainerStatuses[0].state: Forbidden: ${again}`,
  ]);
});

const S = 'status.containerStatuses[0]';
it.each<[status: JsonObject, want: string[]]>([
  [{ allocatedResourcesStatus: [{ name: 'cpu' }, { name: 'cpu' }] }, []],
  [
    { allocatedResourcesStatus: [{ name: 'claim:c' }] },
    [
      `${S}.allocatedResourcesStatus[0].name: Invalid value: "claim:c": must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty`,
    ],
  ],
  [{ name: 'unknown', allocatedResourcesStatus: [{ name: 'x' }] }, []],
  [
    { allocatedResourcesStatus: [{ name: 'cpu', resources: [{ resourceID: 'r' }] }] },
    [
      `${S}.allocatedResourcesStatus[0].resources[0].health: Unsupported value: "": supported values: "Healthy", "Unhealthy", "Unknown"`,
    ],
  ],
  [
    { user: { linux: { uid: -1, gid: 0 } } },
    [`${S}.user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive`],
  ],
])('of a container with %j it is said: %j', async (one, want) =>
  expect(await said({}, { containerStatuses: [{ name: 'a', ...one }] })).toEqual(want),
);

it('on windows nobody is known by a number, and what helps to debug has no devices', async () => {
  const user = { linux: { uid: -1, gid: 0 } };
  expect(await said({ os: { name: 'windows' } }, { containerStatuses: [{ name: 'a', user }] })).toEqual([
    `${S}.user.linux: Forbidden: cannot be set for a windows pod`,
  ]);
  const ephemeralContainerStatuses = [{ name: 'a', allocatedResourcesStatus: [{ name: 'x' }] }];
  expect(await said({}, { ephemeralContainerStatuses })).toEqual([
    'status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status',
  ]);
});

const mapping = { containerName: 'a', resourceName: 'example.com/gpu', requestName: 'r' };
const E = 'status.extendedResourceClaimStatus';
it.each<[claim: JsonObject, want: string[]]>([
  [{ requestMappings: [mapping], resourceClaimName: 'c' }, []],
  [{ requestMappings: [mapping] }, [`${E}.resourceClaimName: Required value`]],
  [
    { requestMappings: [{ ...mapping, resourceName: 'example.com/tpu' }], resourceClaimName: 'c' },
    [
      `${E}.requestMappings[0].resourceName: Invalid value: "example.com/tpu": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests`,
    ],
  ],
  [
    { requestMappings: [{ ...mapping, requestName: 'A' }], resourceClaimName: 'c' },
    [expect.stringContaining(`${E}.requestName: Invalid value: "A": a lowercase RFC 1123 label must consist of`)],
  ],
  [
    { requestMappings: [mapping, mapping], resourceClaimName: 'c' },
    [
      `${E}.requestMappings[1].containerName: Duplicate value: "a"`,
      `${E}.requestMappings[1].resourceName: Duplicate value: "example.com/gpu"`,
      `${E}.requestMappings[1].requestName: Duplicate value: "r"`,
    ],
  ],
])('of a claim for extended resources %j it is said: %j', async (extendedResourceClaimStatus, want) =>
  expect(await said({}, { extendedResourceClaimStatus })).toEqual(want),
);
