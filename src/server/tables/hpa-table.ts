/**
 * The table of autoscalers. Both served forms are read: `autoscaling/v2` with its list of metrics, and
 * `autoscaling/v1`, which knows the use of processors only. A metric without a current value is `<unknown>`.
 */
import type { KubeObject } from '../../api/objects.ts';
import { column, firstOf, get, type KindTable, list, number, scalarText, text, withNameAndAge } from './columns.ts';

const shownMetrics = 2;

export const hpaTable: KindTable = withNameAndAge(
  column('Reference', (hpa) => {
    const target = get(hpa, 'spec', 'scaleTargetRef');
    return `${text(target, 'kind')}/${text(target, 'name')}`;
  }),
  column('Targets', targets),
  column('MinPods', (hpa) => scalarText(hpa, 'spec', 'minReplicas') || '<unset>'),
  column('MaxPods', (hpa) => number(hpa, 'spec', 'maxReplicas')),
  column('Replicas', (hpa) => number(hpa, 'status', 'currentReplicas')),
);

function targets(hpa: KubeObject): string {
  const goal = get(hpa, 'spec', 'targetCPUUtilizationPercentage');
  if (typeof goal === 'number') {
    const current = get(hpa, 'status', 'currentCPUUtilizationPercentage');
    return `cpu: ${percent(current, '<unknown>')}/${goal}%`;
  }
  const current = list(hpa, 'status', 'currentMetrics');
  const shown = list(hpa, 'spec', 'metrics').map((metric, index) => metricText(metric, current[index]));
  return shown.length === 0 ? '<none>' : firstOf(shown, shownMetrics, ', ');
}

/** Where a metric of each type keeps its values. */
const sections: Readonly<Record<string, string>> = {
  External: 'external',
  Pods: 'pods',
  Object: 'object',
  Resource: 'resource',
  ContainerResource: 'containerResource',
};

function metricText(metric: unknown, status: unknown): string {
  const type = text(metric, 'type');
  const section = Object.hasOwn(sections, type) ? sections[type] : undefined;
  if (section === undefined) return '<unknown type>';
  const target = get(metric, section, 'target');
  const current = get(status, section, 'current');
  const average = scalarText(target, 'averageValue');
  if (type === 'Resource' || type === 'ContainerResource') {
    const name = text(metric, section, 'name');
    if (average) return `${name}: ${scalarText(current, 'averageValue') || '<unknown>'}/${average}`;
    const use = percent(get(current, 'averageUtilization'), '<unknown>');
    return `${name}: ${use}/${percent(get(target, 'averageUtilization'), '<auto>')}`;
  }
  if (average) {
    const shown = `${scalarText(current, 'averageValue') || '<unknown>'}/${average}`;
    return type === 'Pods' ? shown : `${shown} (avg)`;
  }
  return `${scalarText(current, 'value') || '<unknown>'}/${scalarText(target, 'value')}`;
}

function percent(value: unknown, missing: string): string {
  return typeof value === 'number' ? `${value}%` : missing;
}
