/**
 * What one write would add to what quotas say is used, or why it may not: pure, so that many writes can be judged one after
 * another on quotas that are written once for all of them.
 *
 * A quota that restrains the object must know what is used of all it restrains; a write that adds nothing passes. What is
 * refused is told in the words of kube-apiserver, the first quota that refuses first.
 */
import type { JsonObject, KubeObject, Quantity } from '../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { type AdmissionAttributes, refuse } from '../admission.ts';
import { type Amounts, amountsIn, saysForAll } from '../pod-amounts.ts';
import { isInScopes } from './scopes.ts';
import { computeUsage, type Usage, usageOf } from './usage.ts';

/** A quota as it would be once those before are stored. */
export type RunningQuota = { readonly quota: KubeObject; readonly hard: Amounts; readonly used: Amounts };

const known = new WeakMap<KubeObject, RunningQuota>();

/** Read once for each version of a quota. */
export function runningQuota(quota: KubeObject): RunningQuota {
  let running = known.get(quota);
  if (!running) {
    const status = objectAt(quota as JsonObject, 'status');
    running = { quota, hard: amountsIn(objectAt(status, 'hard')), used: amountsIn(objectAt(status, 'used')) };
    known.set(quota, running);
  }
  return running;
}

/** The quotas with the write added, the same one where nothing changes; throws a 403 if one of them refuses. */
export function charge(quotas: readonly RunningQuota[], a: AdmissionAttributes): RunningQuota[] {
  const usage = usageOf(a.resource);
  const restraining = new Set(quotas.filter((one) => restrains(one, usage, a)));
  if (restraining.size === 0) return [...quotas];
  const now = Date.parse(a.context.now);
  const wanted = usage.of(a.object!, now);
  const negative = [...wanted].filter(([, amount]) => amount.sign < 0).map(([name]) => name);
  if (negative.length > 0) throw refuse(a, `quota usage is negative for resource(s): ${negative.sort().join(',')}`);
  const counted = countedBefore(a).map((object) => ({ object, amounts: usage.of(object, now) }));
  return quotas.map((one) => {
    if (!restraining.has(one)) return one;
    const ofThis = counted.filter(({ object }) => isInScopes(one.quota, a.resource, object));
    return add(
      one,
      growth(
        wanted,
        ofThis.map(({ amounts }) => amounts),
      ),
      a,
    );
  });
}

/** What is stored, and what an attempt before was charged for to take its place: it was overtaken by a write of something else. */
function countedBefore({ operation, oldObject, charged }: AdmissionAttributes): KubeObject[] {
  const counted = operation === 'UPDATE' ? [oldObject!] : [];
  if (charged && charged.over === oldObject?.metadata.resourceVersion) counted.push(charged.object);
  return counted;
}

/** Whether the quota is about the object; throws where it is and cannot say. */
function restrains({ quota, hard, used }: RunningQuota, usage: Usage, a: AdmissionAttributes): boolean {
  const restrained = [...hard.keys()].filter((name) => usage.counts(name)).sort();
  if (restrained.length === 0 || !isInScopes(quota, a.resource, a.object!)) return false;
  const { name = '' } = quota.metadata;
  const missing = a.resource.plural === 'pods' && !a.resource.isCustom ? unsaid(a.object!, restrained) : [];
  if (missing.length > 0) throw refuse(a, `failed quota: ${name}: must specify ${missing.join('; ')}`);
  if (restrained.some((one) => !used.has(one)))
    throw refuse(a, `status unknown for quota: ${name}, resources: ${restrained.join(',')}`);
  return true;
}

const MUST_SAY = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory'];

/** Of cpu and memory each container must say what it wants, unless the Pod says anything for all of them. */
function unsaid(pod: KubeObject, restrained: readonly string[]): string[] {
  const spec = objectAt(pod as JsonObject, 'spec') ?? {};
  const required = restrained.filter((name) => MUST_SAY.includes(name));
  if (required.length === 0 || saysForAll(spec)) return [];
  const saidBy = (owner: JsonObject) => {
    const resources = objectAt(owner, 'resources');
    return computeUsage(amountsIn(objectAt(resources, 'requests')), amountsIn(objectAt(resources, 'limits')));
  };
  const containers = [...objectsAt(spec, 'containers'), ...objectsAt(spec, 'initContainers')].map((container) => ({
    name: textAt(container, 'name'),
    said: saidBy(container),
  }));
  return required.flatMap((name) => {
    const silent = new Set(containers.filter(({ said }) => !said.has(name)).map((container) => container.name));
    return silent.size === 0 ? [] : [`${name} for: ${[...silent].sort().join(',')}`];
  });
}

/** What is more than any of those before; what is less is given back by a controller. */
function growth(wanted: Amounts, before: readonly Amounts[]): Map<string, Quantity> {
  const grown = new Map<string, Quantity>();
  for (const [name, amount] of wanted) {
    let more = amount;
    for (const amounts of before) {
      const had = amounts.get(name);
      const rest = had ? amount.subtract(had) : amount;
      if (rest.compare(more) < 0) more = rest;
    }
    if (more.sign > 0) grown.set(name, more);
  }
  return grown;
}

function add(running: RunningQuota, grown: Amounts, a: AdmissionAttributes): RunningQuota {
  const { quota, hard, used } = running;
  const asked = [...grown].filter(([name]) => hard.has(name)).sort(([one], [other]) => (one < other ? -1 : 1));
  if (asked.length === 0) return running;
  const after = new Map(used);
  for (const [name, amount] of asked) after.set(name, used.get(name)?.add(amount) ?? amount);
  const exceeded = asked.map(([name]) => name).filter((name) => after.get(name)!.compare(hard.get(name)!) > 0);
  // What a status says has happened already: it is counted, and cannot be refused.
  if (exceeded.length > 0 && a.subresource !== 'status') {
    const show = (amounts: Amounts) => exceeded.map((name) => `${name}=${amounts.get(name) ?? '0'}`).join(',');
    const { name } = quota.metadata;
    throw refuse(a, `exceeded quota: ${name}, requested: ${show(grown)}, used: ${show(used)}, limited: ${show(hard)}`);
  }
  return { quota, hard, used: after };
}
