/**
 * Priority: a new Pod has the number and the preemption policy of its PriorityClass, or of the class that is the default
 * for all; there is one such default at most. What was decided stays when an update leaves it out.
 */
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import { whenThere } from '../../../event-loop/when-there.ts';
import type { StrategyContext } from '../../../strategy/strategy.ts';
import { ensureObject, numberAt, objectAt, textAt } from '../../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../../admission.ts';
import { concerns } from '../../concerns.ts';

const GROUP = 'scheduling.k8s.io';
const CLASSES = 'priorityclasses';

const ofPods = concerns(['CREATE', 'UPDATE'], ['pods']);
const ofClasses = concerns(['CREATE', 'UPDATE'], [`${CLASSES}.${GROUP}`]);

export const priority: AdmissionPlugin = {
  name: 'Priority',
  handles: (...write) => ofPods(...write) || ofClasses(...write),
  admit: (a) => {
    if (a.resource.plural !== 'pods') return;
    const spec = ensureObject(a.object as JsonObject, 'spec');
    if (a.operation === 'CREATE') return decide(a, spec);
    keepDecided(spec, objectAt(a.oldObject as JsonObject, 'spec') ?? {});
    return;
  },
  validate: (a) => {
    if (a.resource.plural !== CLASSES || a.object!.globalDefault !== true) return;
    return mustBeOnlyDefault(a);
  },
};

async function mustBeOnlyDefault(a: AdmissionAttributes): Promise<void> {
  const other = defaultOf(await a.context.list(GROUP, CLASSES));
  if (!other || (a.operation === 'UPDATE' && other.metadata.name === a.object!.metadata.name)) return;
  const why = `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`;
  throw refuse(a, why);
}

function keepDecided(spec: JsonObject, old: JsonObject): void {
  for (const field of ['priority', 'preemptionPolicy'])
    if (spec[field] === undefined && old[field] !== undefined) spec[field] = old[field];
}

function decide(a: AdmissionAttributes, spec: JsonObject): void | Promise<void> {
  const wanted = textAt(spec, 'priorityClassName');
  return whenThere(findClass(wanted, a.context), (found) => takeFrom(found, wanted, a, spec));
}

function takeFrom(found: KubeObject | undefined, wanted: string, a: AdmissionAttributes, spec: JsonObject): void {
  if (wanted !== '' && !found) throw refuse(a, `no PriorityClass with name ${wanted} was found`);
  const value = typeof found?.value === 'number' ? found.value : 0;
  const given = numberAt(spec, 'priority');
  const computed = (what: string | number) =>
    `must not be provided in pod spec; priority admission controller computed ${what} from the given PriorityClass name`;
  if (given !== undefined && given !== value)
    throw refuse(a, `the integer value of priority (${given}) ${computed(value)}`);
  const policy = textAt(found as JsonObject | undefined, 'preemptionPolicy') || 'PreemptLowerPriority';
  if (typeof spec.preemptionPolicy === 'string' && spec.preemptionPolicy !== policy)
    throw refuse(a, `the string value of PreemptionPolicy (${spec.preemptionPolicy}) ${computed(policy)}`);
  if (found) spec.priorityClassName = found.metadata.name;
  spec.priority = value;
  spec.preemptionPolicy = policy;
}

function findClass(
  name: string,
  { list, listKnown }: StrategyContext,
): KubeObject | undefined | Promise<KubeObject | undefined> {
  return whenThere(listKnown(GROUP, CLASSES), (known) => {
    if (name === '') return defaultOf(known);
    const isIt = ({ metadata }: KubeObject) => metadata.name === name;
    return known.find(isIt) ?? list(GROUP, CLASSES).then((stored) => stored.find(isIt));
  });
}

/** Should there be several, the one of the lowest value counts. */
function defaultOf(classes: readonly KubeObject[]): KubeObject | undefined {
  let found: KubeObject | undefined;
  for (const one of classes)
    if (one.globalDefault === true && (!found || Number(one.value ?? 0) < Number(found.value ?? 0))) found = one;
  return found;
}
