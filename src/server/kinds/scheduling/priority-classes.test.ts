import { expect, it } from 'vitest';
import { faultsOf } from '../kind-tables.testing.ts';

const CLASSES = 'priorityclasses.scheduling.k8s.io';

it.each<[name: string, value: number, globalDefault: boolean, why: string | undefined]>([
  ['system-node-critical', 2_000_001_000, false, undefined],
  ['system-node-critical', 5, false, 'value of system-node-critical PriorityClass must be 2000001000'],
  ['system-node-critical', 2_000_001_000, true, 'globalDefault of system-node-critical PriorityClass must be false'],
  ['system-mine', 5, false, 'system-mine is not a known system priority class'],
])('a class named %s of value %d, default %s, is what the system has: %s', async (name, value, globalDefault, why) => {
  const lead = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only.";
  const faults = await faultsOf(CLASSES, { metadata: { name }, value, globalDefault });
  expect(faults).toEqual(why === undefined ? [] : [`${lead} error: ${why}`]);
});
