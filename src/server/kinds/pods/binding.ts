/** The `binding` subresource: a scheduler says which node a pod runs on. That is said once. */
import {
  conflict,
  type FieldError,
  type JsonObject,
  type KubeObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { ensureObject, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';

/** What is wrong with a Binding. */
export function validateBinding(binding: KubeObject): FieldError[] {
  const target = objectAt(binding as JsonObject, 'target');
  const kind = textAt(target, 'kind');
  const errors = kind === '' || kind === 'Node' ? [] : [unsupportedValue('target.kind', kind, ['Node', '<empty>'])];
  return textAt(target, 'name') === '' ? [...errors, requiredValue('target.name')] : errors;
}

/** Changes the pod; throws a Conflict if it cannot be bound (any more). `now` is in RFC 3339. */
export function applyBinding(pod: KubeObject, binding: KubeObject, now: string): void {
  const { name = '' } = pod.metadata;
  const spec = ensureObject(pod as JsonObject, 'spec');
  const node = textAt(spec, 'nodeName');
  const refuse = (why: string) => conflict({ group: '', plural: 'pods/binding' }, name, why);
  if (pod.metadata.deletionTimestamp) throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  if (node !== '') throw refuse(`pod ${name} is already assigned to node "${node}"`);
  if (objectsAt(spec, 'schedulingGates').length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  spec.nodeName = textAt(objectAt(binding as JsonObject, 'target'), 'name');
  const { annotations, labels } = binding.metadata;
  if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
  if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
  const status = ensureObject(pod as JsonObject, 'status');
  delete status.nominatedNodeName; // it was a guess
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now };
  status.conditions = [...objectsAt(status, 'conditions').filter(({ type }) => type !== 'PodScheduled'), scheduled];
}
