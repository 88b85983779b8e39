/**
 * RuntimeClass: a new Pod of a class has the overhead of that class and goes to the nodes that have it. An overhead that no
 * class accounts for is refused.
 */
import { isGivenEmpty } from '../../../../api/given-empty.ts';
import { type JsonObject, type KubeObject, quote } from '../../../../api/index.ts';
import { cloneJson } from '../../../codec/json/json-objects.ts';
import { sameField } from '../../../kinds/pods/pod-update.ts';
import { ensureObject, numberAt, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const noOverhead = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';

export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  handles: concerns(['CREATE'], ['pods']),
  admit: (a) => {
    const spec = ensureObject(a.object as JsonObject, 'spec');
    if (typeof spec.runtimeClassName !== 'string') return;
    return findClass(a, spec.runtimeClassName).then((found) => {
      setOverhead(a, spec, found);
      setScheduling(a, spec, objectAt(found as JsonObject, 'scheduling'));
    });
  },
  validate: (a) => {
    const spec = objectAt(a.object as JsonObject, 'spec') ?? {};
    if (typeof spec.runtimeClassName === 'string')
      return findClass(a, spec.runtimeClassName).then((found) => checkOverhead(a, spec, overheadOf(found)));
    checkOverhead(a, spec, undefined);
    return;
  },
};

async function findClass(a: AdmissionAttributes, name: string): Promise<KubeObject> {
  const { list, listKnown } = a.context;
  const isIt = ({ metadata }: KubeObject) => metadata.name === name;
  const found =
    (await listKnown('node.k8s.io', 'runtimeclasses')).find(isIt) ??
    (await list('node.k8s.io', 'runtimeclasses')).find(isIt);
  if (!found) throw refuse(a, `pod rejected: RuntimeClass ${quote(name)} not found`);
  return found;
}

function overheadOf(runtime: KubeObject): JsonObject | undefined {
  return objectAt(objectAt(runtime as JsonObject, 'overhead'), 'podFixed');
}

function setOverhead(a: AdmissionAttributes, spec: JsonObject, runtime: KubeObject): void {
  const overhead = overheadOf(runtime);
  if (!overhead) return;
  if (spec.overhead !== undefined && !sameField(spec.overhead, overhead)) throw refuse(a, otherOverhead);
  spec.overhead = cloneJson(overhead);
}

function checkOverhead(a: AdmissionAttributes, spec: JsonObject, overhead: JsonObject | undefined): void {
  if (!overhead && (spec.overhead !== undefined || isGivenEmpty(spec, 'overhead'))) throw refuse(a, noOverhead);
  if (overhead && !sameField(spec.overhead, overhead)) throw refuse(a, otherOverhead);
}

/** The same for tolerations that say the same. */
function textOf(toleration: JsonObject): string {
  const fields = ['key', 'operator', 'value', 'effect'].map((field) => textAt(toleration, field));
  return JSON.stringify([...fields, numberAt(toleration, 'tolerationSeconds') ?? null]);
}

function setScheduling(a: AdmissionAttributes, spec: JsonObject, scheduling: JsonObject | undefined): void {
  if (!scheduling) return;
  const selector: JsonObject = { ...objectAt(spec, 'nodeSelector') };
  for (const [key, value] of Object.entries(objectAt(scheduling, 'nodeSelector') ?? {})) {
    const said = selector[key];
    if (said !== undefined && said !== value) {
      const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${said}`;
      throw refuse(a, why);
    }
    selector[key] = value!;
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector;
  const tolerations = objectsAt(spec, 'tolerations');
  const own = new Set(tolerations.map(textOf));
  const added = objectsAt(scheduling, 'tolerations').filter((one) => !own.has(textOf(one)));
  if (added.length > 0) spec.tolerations = [...tolerations, ...added.map((one) => cloneJson(one))];
}
