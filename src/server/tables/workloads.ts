/** The tables of what runs: pods and everything that makes pods. Pure data and small cell functions. */
import type { KubeObject } from '../../api/objects.ts';
import { humanDuration } from '../../api/scalars/durations.ts';
import { type LabelSelectorObject, showLabelSelector } from '../../api/selectors/label-selector.ts';
import {
  age,
  ageColumn,
  booleanColumn,
  type Cell,
  type Column,
  column,
  get,
  hasCondition,
  integerColumn,
  type KindTable,
  type KindTables,
  labelsText,
  list,
  nameColumn,
  number,
  plainNameColumn,
  scalarText,
  text,
  wideColumn,
  withNameAndAge,
} from './columns.ts';
import { hpaTable } from './hpa-table.ts';
import { podConditions, summarisePod } from './pod-status.ts';

export const workloadTables: KindTables = {
  '/pods': {
    columns: [
      nameColumn,
      column('Ready', (pod) => {
        const { ready, total } = summarisePod(pod);
        return `${ready}/${total}`;
      }),
      column('Status', (pod) => summarisePod(pod).reason),
      column('Restarts', restarts),
      ageColumn,
      wideColumn('IP', (pod) => text(pod, 'status', 'podIPs', 0, 'ip') || text(pod, 'status', 'podIP') || '<none>'),
      wideColumn('Node', (pod) => text(pod, 'spec', 'nodeName') || '<none>'),
      wideColumn('Nominated Node', (pod) => text(pod, 'status', 'nominatedNodeName') || '<none>'),
      wideColumn('Readiness Gates', readinessGates),
    ],
    conditions: podConditions,
  },
  '/podtemplates': {
    columns: [
      nameColumn,
      column('Containers', containers('template')),
      column('Images', images('template')),
      column('Pod Labels', (object) => labelsText(object, 'template', 'metadata', 'labels')),
    ],
  },
  '/replicationcontrollers': replicaTable((object) => labelsText(object, 'spec', 'selector')),
  'apps/replicasets': replicaTable(selector('spec', 'selector')),
  'autoscaling/scales': {
    columns: [
      plainNameColumn,
      integerColumn('Desired', (scale) => number(scale, 'spec', 'replicas')),
      integerColumn('Available', (scale) => number(scale, 'status', 'replicas')),
      ageColumn,
    ],
  },
  'apps/deployments': {
    columns: [
      nameColumn,
      column('Ready', readyOfDesired),
      column('Up-to-date', status('updatedReplicas')),
      column('Available', status('availableReplicas')),
      ageColumn,
      ...podColumns(selector('spec', 'selector'), 'spec', 'template'),
    ],
  },
  'apps/statefulsets': {
    columns: [
      nameColumn,
      column('Ready', readyOfDesired),
      ageColumn,
      wideColumn('Containers', containers('spec', 'template')),
      wideColumn('Images', images('spec', 'template')),
    ],
  },
  'apps/daemonsets': {
    columns: [
      nameColumn,
      integerColumn('Desired', status('desiredNumberScheduled')),
      integerColumn('Current', status('currentNumberScheduled')),
      integerColumn('Ready', status('numberReady')),
      integerColumn('Up-to-date', status('updatedNumberScheduled')),
      integerColumn('Available', status('numberAvailable')),
      column('Node Selector', (object) => labelsText(object, 'spec', 'template', 'spec', 'nodeSelector')),
      ageColumn,
      ...podColumns(selector('spec', 'selector'), 'spec', 'template'),
    ],
  },
  'apps/controllerrevisions': withNameAndAge(
    column('Controller', controllerOf),
    column('Revision', (object) => number(object, 'revision')),
  ),
  'batch/jobs': {
    columns: [
      nameColumn,
      column('Status', jobStatus),
      column('Completions', completions),
      column('Duration', jobDuration),
      ageColumn,
      ...podColumns(selector('spec', 'selector'), 'spec', 'template'),
    ],
  },
  'batch/cronjobs': {
    columns: [
      nameColumn,
      column('Schedule', (object) => text(object, 'spec', 'schedule')),
      column('Timezone', (object) => text(object, 'spec', 'timeZone') || '<none>'),
      booleanColumn('Suspend', suspended),
      integerColumn('Active', (object) => list(object, 'status', 'active').length),
      column('Last Schedule', (object, { nowMs }) => {
        const last = text(object, 'status', 'lastScheduleTime');
        return last ? age(last, nowMs) : '<none>';
      }),
      ageColumn,
      ...podColumns(selector('spec', 'jobTemplate', 'spec', 'selector'), 'spec', 'jobTemplate', 'spec', 'template'),
    ],
  },
  'autoscaling/horizontalpodautoscalers': hpaTable,
  'policy/poddisruptionbudgets': withNameAndAge(
    column('Min Available', (object) => scalarText(object, 'spec', 'minAvailable') || 'N/A'),
    column('Max Unavailable', (object) => scalarText(object, 'spec', 'maxUnavailable') || 'N/A'),
    integerColumn('Allowed Disruptions', status('disruptionsAllowed')),
  ),
};

function replicaTable(selectorCell: Cell): KindTable {
  return {
    columns: [
      nameColumn,
      integerColumn('Desired', (object) => number(object, 'spec', 'replicas')),
      integerColumn('Current', status('replicas')),
      integerColumn('Ready', status('readyReplicas')),
      ageColumn,
      ...podColumns(selectorCell, 'spec', 'template'),
    ],
  };
}

function podColumns(selectorCell: Cell, ...template: string[]): Column[] {
  return [
    wideColumn('Containers', containers(...template)),
    wideColumn('Images', images(...template)),
    wideColumn('Selector', selectorCell),
  ];
}

function containers(...template: string[]): Cell {
  return (object) => ofContainers(object, template, 'name');
}

function images(...template: string[]): Cell {
  return (object) => ofContainers(object, template, 'image');
}

function ofContainers(object: KubeObject, template: string[], field: string): string {
  const all = list(object, ...template, 'spec', 'containers');
  return all.map((container) => text(container, field)).join(',');
}

function selector(...path: string[]): Cell {
  return (object) => showLabelSelector(get(object, ...path) as LabelSelectorObject | undefined);
}

function status(field: string): Cell {
  return (object) => number(object, 'status', field);
}

function readyOfDesired(object: KubeObject): string {
  return `${number(object, 'status', 'readyReplicas')}/${number(object, 'spec', 'replicas')}`;
}

function restarts(pod: KubeObject, { nowMs }: { nowMs: number }): string {
  const { restarts: count, lastRestart } = summarisePod(pod);
  return count > 0 && lastRestart ? `${count} (${age(lastRestart, nowMs)} ago)` : `${count}`;
}

function readinessGates(pod: KubeObject): string {
  const gates = list(pod, 'spec', 'readinessGates');
  if (gates.length === 0) return '<none>';
  return `${gates.filter((gate) => hasCondition(pod, text(gate, 'conditionType'))).length}/${gates.length}`;
}

function controllerOf(object: KubeObject): string {
  const owner = (object.metadata.ownerReferences ?? []).find((reference) => reference.controller);
  if (!owner) return '<none>';
  const [group, version] = owner.apiVersion.split('/');
  const kind = version === undefined ? owner.kind : `${owner.kind}.${group}`;
  return `${kind.toLowerCase()}/${owner.name}`;
}

const jobConditions = [
  ['Complete', 'Complete'],
  ['Failed', 'Failed'],
  ['', 'Terminating'],
  ['Suspended', 'Suspended'],
  ['FailureTarget', 'FailureTarget'],
  ['SuccessCriteriaMet', 'SuccessCriteriaMet'],
] as const;

function jobStatus(job: KubeObject): string {
  for (const [condition, shown] of jobConditions) {
    if (condition === '' ? job.metadata.deletionTimestamp : hasCondition(job, condition)) return shown;
  }
  return 'Running';
}

function completions(job: KubeObject): string {
  const succeeded = number(job, 'status', 'succeeded');
  const wanted = get(job, 'spec', 'completions');
  if (typeof wanted === 'number') return `${succeeded}/${wanted}`;
  const parallelism = number(job, 'spec', 'parallelism');
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: KubeObject, { nowMs }: { nowMs: number }): string {
  const start = Date.parse(text(job, 'status', 'startTime'));
  if (Number.isNaN(start)) return '';
  const end = Date.parse(text(job, 'status', 'completionTime'));
  return humanDuration((Number.isNaN(end) ? nowMs : end) - start);
}

function suspended(cronJob: KubeObject): string {
  const suspend = get(cronJob, 'spec', 'suspend');
  if (typeof suspend !== 'boolean') return '<unset>';
  return suspend ? 'True' : 'False';
}
