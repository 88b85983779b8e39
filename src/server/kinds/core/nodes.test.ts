import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { faultsOf } from '../kind-tables.testing.ts';
import { apply, find, refusals } from '../strategy-run.testing.ts';

const feature = (name: string): string => `invalid feature name "${name}"`;

it.each<[status: JsonObject, want: string[]]>([
  [{ declaredFeatures: ['A', 'B/c1', 'B/d'] }, []],
  [
    { declaredFeatures: ['B', 'A', 'B'] },
    ['status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically'],
  ],
  [{ declaredFeatures: ['A/1'] }, [expect.stringContaining(feature('A/1'))]],
  [{ declaredFeatures: ['A', 'A'] }, ['status.declaredFeatures[1]: Duplicate value: "A"']],
  [
    { declaredFeatures: ['A'.repeat(254)] },
    [
      `status.declaredFeatures[0]: Invalid value: "${'A'.repeat(254)}": ${feature('A'.repeat(254))}: must be no more than 253 characters`,
    ],
  ],
  [{ nodeInfo: { swap: { capacity: 1 } } }, []],
  [
    { nodeInfo: { swap: { capacity: 0 } } },
    ['metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero'],
  ],
])('of a new node with status %j it is said: %j', async (status, want) =>
  expect(await faultsOf('nodes', { status })).toEqual(want),
);

it('what a kubelet reports of its amounts is refused once, and its swap and its ranges are not asked for', async () => {
  const run = await apply(find('nodes'), { spec: { podCIDRs: ['10.0.0.0/24'] } });
  const status = {
    capacity: { cpu: '-1' },
    declaredFeatures: ['a'],
    nodeInfo: { swap: { capacity: -1 } },
  };
  const next = { ...run.created, status } as unknown as KubeObject;
  expect(await refusals(run, next, 'status')).toEqual([
    expect.stringContaining(feature('a')),
    'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
    'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
  ]);
  expect(await refusals(run, next)).toContain(
    'metadata.nodeSwapStatus.capacity: Invalid value: -1: must be greater than zero',
  );
});
