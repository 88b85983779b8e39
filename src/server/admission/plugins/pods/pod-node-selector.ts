/**
 * PodNodeSelector: Pods of a namespace run on the nodes that its annotation selects, beside what they select themselves; one
 * that contradicts is refused. There is no configuration for the whole cluster.
 */
import {
  checkLabelValue,
  checkQualifiedName,
  fieldErrorText,
  forbidden,
  invalidValue,
  type JsonObject,
  plainError,
} from '../../../../api/index.ts';
import { ensureObject, mapAt } from '../../../strategy/validation/fields.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../admission.ts';
import { concerns } from '../../concerns.ts';
import { withNamespace } from './namespace-of-pod.ts';

const ANNOTATION = 'scheduler.alpha.kubernetes.io/node-selector';

export const podNodeSelector: AdmissionPlugin = {
  name: 'PodNodeSelector',
  handles: concerns(['CREATE'], ['pods']),
  admit: (a) =>
    withNamespace(a, (annotations) => {
      const wanted = selectorOf(annotations[ANNOTATION] ?? '');
      mustAgree(a, wanted);
      const spec = ensureObject(a.object as JsonObject, 'spec');
      if (Object.keys(wanted).length > 0) spec.nodeSelector = { ...wanted, ...mapAt(spec, 'nodeSelector') };
    }),
  validate: (a) => withNamespace(a, (annotations) => mustAgree(a, selectorOf(annotations[ANNOTATION] ?? ''))),
};

function mustAgree({ object, resource }: AdmissionAttributes, wanted: Readonly<Record<string, string>>): void {
  const own = mapAt(ensureObject(object as JsonObject, 'spec'), 'nodeSelector') ?? {};
  if (!Object.entries(own).some(([key, value]) => Object.hasOwn(wanted, key) && wanted[key] !== value)) return;
  const why = 'pod node label selector conflicts with its namespace node label selector';
  throw forbidden(resource, object!.metadata.name ?? '', why);
}

/** `key=value`, by commas. */
function selectorOf(text: string): Record<string, string> {
  if (text === '') return {};
  return Object.fromEntries(
    text.split(',').map((part): [string, string] => {
      const pair = part.split('=');
      if (pair.length !== 2) throw plainError(`invalid selector: [${pair.join(' ')}]`);
      const [key = '', value = ''] = pair.map((one) => one.trim());
      const [badKey] = checkQualifiedName(key);
      if (badKey) throw plainError(fieldErrorText(invalidValue('key', key, badKey)));
      const [badValue] = checkLabelValue(value);
      if (badValue) throw plainError(fieldErrorText(invalidValue('value', value, badValue)));
      return [key, value];
    }),
  );
}
