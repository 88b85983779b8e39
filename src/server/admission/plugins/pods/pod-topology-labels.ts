/**
 * PodTopologyLabels: a Pod that is put on a Node, or made on it, has the labels that say where that Node is, whatever it said
 * itself. As in kube-apiserver, a Node that this server has not heard of is none: the store is not asked.
 */
import type { JsonObject } from '../../../../api/index.ts';
import { whenThere } from '../../../event-loop/when-there.ts';
import { objectAt, textAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const LABELS = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

export const podTopologyLabels: AdmissionPlugin = {
  name: 'PodTopologyLabels',
  handles: concerns(['CREATE'], ['pods'], ['', 'binding']),
  admit: ({ object, subresource, context }) => {
    const node =
      subresource === 'binding'
        ? nodeOf(objectAt(object as JsonObject, 'target'))
        : textAt(objectAt(object as JsonObject, 'spec'), 'nodeName');
    if (node === '') return;
    return whenThere(context.remembered('', 'nodes', '', node), (found) => {
      const { metadata } = object!;
      for (const key of LABELS) {
        const value = found?.metadata.labels?.[key];
        if (value !== undefined) metadata.labels = { ...metadata.labels, [key]: value };
      }
    });
  },
};

function nodeOf(target: JsonObject | undefined): string {
  return textAt(target, 'kind') === 'Node' ? textAt(target, 'name') : '';
}
