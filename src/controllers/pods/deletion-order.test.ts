import { expect, it } from 'vitest';
import type { corev1 } from '../../client/index.ts';
import { leastWorthFirst } from './deletion-order.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();

type Traits = {
  node?: string;
  phase?: string;
  isReady?: boolean;
  readyFor?: number;
  cost?: string;
  restarts?: number;
  age?: number;
};

function pod(name: string, traits: Traits): corev1.Pod {
  const { node = 'n', phase = 'Running', isReady = true, readyFor = 60, cost, restarts = 0, age = 60 } = traits;
  const annotations = cost === undefined ? {} : { 'controller.kubernetes.io/pod-deletion-cost': cost };
  return {
    metadata: { name, uid: name, creationTimestamp: ago(age), annotations },
    spec: { containers: [], ...(node && { nodeName: node }) },
    status: {
      phase,
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: ago(readyFor) }],
      containerStatuses: [{ restartCount: restarts }],
    },
  } as unknown as corev1.Pod;
}

it.each<[what: string, first: Traits, then: Traits]>([
  ['one without a node', { node: '', phase: 'Pending', isReady: false, cost: '9' }, {}],
  ['one that is pending', { phase: 'Pending', isReady: false, cost: '9' }, { isReady: false }],
  ['one that is not ready', { isReady: false, cost: '9' }, {}],
  ['one of a lower cost', { cost: '-1' }, {}],
  ['one whose cost is no number counts as 0', {}, { cost: '1' }],
  ['one that was ready for a short time', { readyFor: 1 }, { restarts: 5 }],
  ['one that was restarted', { restarts: 1 }, { age: 1 }],
  ['a young one', { age: 10 }, { age: 1000 }],
])('%s goes first', (_what, first, then) => {
  const pods = [pod('then', then), pod('first', first)];
  expect(leastWorthFirst(pods, [], NOW).map(({ metadata }) => metadata.name)).toEqual(['first', 'then']);
});

it('of a node with many more goes than of one with few', () => {
  const pods = [pod('a', { node: 'few' }), pod('b', { node: 'many' })];
  const related = [...pods, pod('c', { node: 'many' })];
  expect(leastWorthFirst(pods, related, NOW).map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
});

it('of about one age nobody is before another', () => {
  const pods = [pod('a', { age: 100, readyFor: 90 }), pod('b', { age: 101, readyFor: 91 })];
  expect(leastWorthFirst(pods, [], NOW).map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
});
