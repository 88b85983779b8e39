import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { podConditions, summarisePod } from './pod-status.ts';

type Parts = { metadata?: object; spec?: object; status?: object };

function pod({ metadata, spec, status }: Parts): KubeObject {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', ...metadata },
    spec: { containers: [{ name: 'c' }], ...spec },
    status: { phase: 'Running', ...status },
  } as KubeObject;
}

const running = { name: 'c', ready: true, restartCount: 0, state: { running: {} } };
const waiting = (reason: string) => ({ name: 'c', restartCount: 0, state: { waiting: { reason } } });
const ended = (terminated: object) => ({ name: 'c', restartCount: 0, state: { terminated } });
const initContainers = [{ name: 'i' }, { name: 'j' }];
const ready = [{ type: 'Ready', status: 'True' }];
const deleted = { deletionTimestamp: '2024-01-01T00:00:00Z' };

describe('summarisePod()', () => {
  it.each<[claim: string, parts: Parts, reason: string, readyOfTotal: string]>([
    ['shows the phase', { status: { phase: 'Pending' } }, 'Pending', '0/1'],
    ['prefers the reason', { status: { phase: 'Failed', reason: 'Evicted' } }, 'Evicted', '0/1'],
    [
      'knows scheduling gates',
      { status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] } },
      'SchedulingGated',
      '0/1',
    ],
    ['counts what is ready', { status: { containerStatuses: [running] } }, 'Running', '1/1'],
    [
      'shows why one waits',
      { status: { containerStatuses: [waiting('CrashLoopBackOff')] } },
      'CrashLoopBackOff',
      '0/1',
    ],
    [
      'lets the first container speak',
      { spec: { containers: [{}, {}] }, status: { containerStatuses: [waiting('A'), waiting('B')] } },
      'A',
      '0/2',
    ],
    [
      'shows why one ended',
      { status: { containerStatuses: [ended({ reason: 'Error', exitCode: 1 })] } },
      'Error',
      '0/1',
    ],
    ['shows a signal', { status: { containerStatuses: [ended({ signal: 9, exitCode: 137 })] } }, 'Signal:9', '0/1'],
    ['shows an exit code', { status: { containerStatuses: [ended({ exitCode: 3 })] } }, 'ExitCode:3', '0/1'],
    [
      'keeps running beside a completed container',
      {
        spec: { containers: [{}, {}] },
        status: { conditions: ready, containerStatuses: [ended({ reason: 'Completed' }), running] },
      },
      'Running',
      '1/2',
    ],
    [
      'is not ready beside a completed container without the condition',
      { spec: { containers: [{}, {}] }, status: { containerStatuses: [ended({ reason: 'Completed' }), running] } },
      'NotReady',
      '1/2',
    ],
    [
      'tells a failure behind a completed container',
      {
        spec: { containers: [{}, {}] },
        status: { containerStatuses: [ended({ reason: 'Completed' }), ended({ reason: 'OOMKilled', exitCode: 137 })] },
      },
      'OOMKilled',
      '0/2',
    ],
    [
      'counts init containers',
      {
        spec: { initContainers },
        status: { initContainerStatuses: [ended({ exitCode: 0 }), waiting('PodInitializing')] },
      },
      'Init:1/2',
      '0/1',
    ],
    [
      'shows a failed init container',
      { spec: { initContainers }, status: { initContainerStatuses: [ended({ exitCode: 2 })] } },
      'Init:ExitCode:2',
      '0/1',
    ],
    [
      'shows a waiting init container',
      { spec: { initContainers }, status: { initContainerStatuses: [waiting('ErrImagePull')] } },
      'Init:ErrImagePull',
      '0/1',
    ],
    [
      'counts a sidecar as a container',
      {
        spec: { initContainers: [{ name: 'i', restartPolicy: 'Always' }] },
        status: {
          initContainerStatuses: [{ name: 'i', started: true, ready: true, state: { running: {} } }],
          containerStatuses: [running],
        },
      },
      'Running',
      '2/2',
    ],
    ['is terminating', { metadata: deleted, status: { containerStatuses: [running] } }, 'Terminating', '1/1'],
    ['is done, not terminating', { metadata: deleted, status: { phase: 'Succeeded' } }, 'Succeeded', '0/1'],
    ['is unknown on a lost node', { metadata: deleted, status: { reason: 'NodeLost' } }, 'Unknown', '0/1'],
  ])('%s', (_claim, parts, reason, readyOfTotal) => {
    const summary = summarisePod(pod(parts));
    expect([summary.reason, `${summary.ready}/${summary.total}`]).toEqual([reason, readyOfTotal]);
  });

  it('sums restarts and keeps the latest time', () => {
    const at = (finishedAt: string) => ({ lastState: { terminated: { finishedAt } } });
    const containerStatuses = [
      { ...running, restartCount: 2, ...at('2024-01-01T00:00:05Z') },
      { ...running, restartCount: 1, ...at('2024-01-01T00:00:01Z') },
    ];
    const initContainerStatuses = [{ ...ended({ exitCode: 0 }), restartCount: 7 }];
    const { restarts, lastRestart } = summarisePod(pod({ status: { containerStatuses, initContainerStatuses } }));
    expect([restarts, lastRestart]).toEqual([3, '2024-01-01T00:00:05Z']);
  });
});

it('podConditions() mark what is over', () => {
  expect(podConditions(pod({ status: { phase: 'Succeeded' } }))).toEqual([
    { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
  ]);
  expect(podConditions(pod({ status: { phase: 'Failed' } }))[0]?.message).toBe('The pod failed.');
  expect(podConditions(pod({}))).toEqual([]);
});
