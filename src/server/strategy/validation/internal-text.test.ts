import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { internalForm, internalPodSpec, internalTemplate, type ShownType } from './internal-text.ts';

it.each<[type: ShownType, value: JsonObject, text: string]>([
  [
    'PodDisruptionBudgetSpec',
    { maxUnavailable: 1, minAvailable: '50%', selector: { matchLabels: { a: 'b' } } },
    '{"MinAvailable":"50%","Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}',
  ],
  [
    'VolumeNodeAffinity',
    { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'k', operator: 'Exists' }] }] } },
    '{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"k","Operator":"Exists","Values":null}],"MatchFields":null}]}}',
  ],
])('a %s is shown with all its fields in their order', (type, value, text) =>
  expect(jsonText(internalForm(value, type))).toBe(text),
);

it('a template is shown with its metadata as it is, and its spec with all its fields', () => {
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', image: 'i' }], hostNetwork: true },
  };
  const shown = internalTemplate(template) as { labels: JsonObject; Spec: JsonObject };
  expect(Object.keys(shown)).toEqual(['labels', 'Spec']);
  expect(shown.Spec).toMatchObject({
    Volumes: null,
    Containers: [{ Name: 'c', Image: 'i', Command: null, TTY: false }],
    SecurityContext: { HostNetwork: true, HostPID: false },
  });
});

it('an ephemeral container is a container and more', () => {
  const shown = internalForm({ name: 'e', targetContainerName: 'c' }, 'EphemeralContainer');
  expect(shown).toMatchObject({ Name: 'e', Image: '', Ports: null, TTY: false, TargetContainerName: 'c' });
});

it('a map in a part of another type may have an entry without a name', () => {
  const spec = { volumes: [{ name: 'v', flexVolume: { driver: 'd', options: { '': 'x' } } }] };
  expect(jsonText(internalPodSpec(spec))).toContain('"Options":{"":"x"}');
});
