/**
 * Whoever has a policy read parameters must be allowed to read them: a policy shows of them what it likes, in its messages.
 * Asked of objects that are good otherwise, in the words of kube-apiserver.
 *
 * Always true: a policy that keeps its kind of parameters is not asked about again; a binding is, whenever it is written.
 */
import { type FieldError, forbiddenValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Reading, StrategyContext } from '../../strategy/strategy.ts';
import { objectAt, sameValue, textAt } from '../../strategy/validation/fields.ts';

const GROUP = 'admissionregistration.k8s.io';

/** Of all objects of the kind: a binding says later which they are. */
export async function checkParamKindRight(
  policy: KubeObject,
  old: KubeObject | undefined,
  context: StrategyContext | undefined,
): Promise<FieldError[]> {
  const kind = paramKindOf(policy);
  if (!kind || !context?.user || context.subresource !== '') return [];
  if (old && sameValue(kind, paramKindOf(old))) return [];
  const [apiVersion, name] = [textAt(kind, 'apiVersion'), textAt(kind, 'kind')];
  if (await mayRead(context, { verb: 'get', apiVersion, kind: name, namespace: '*', name: '*' })) return [];
  const why = `user ${shown(context.user)} must have \\"get\\" permission on all objects of the referenced paramKind (kind=${name}, apiVersion=${apiVersion})`;
  return [forbiddenValue('spec.paramKind', why)];
}

/** Of the objects that a binding names; of everything, while nobody knows what kind they are of. */
export async function checkParamRefRight(
  binding: KubeObject,
  context: StrategyContext | undefined,
  policies: 'validatingadmissionpolicies' | 'mutatingadmissionpolicies',
): Promise<FieldError[]> {
  const spec = objectAt(binding as JsonObject, 'spec');
  const ref = objectAt(spec, 'paramRef');
  if (!ref || !context?.user) return [];
  const policy = await context.known(GROUP, policies, '', textAt(spec, 'policyName'));
  const kind = policy && paramKindOf(policy);
  const [name, namespace] = [textAt(ref, 'name'), textAt(ref, 'namespace')];
  const isMutating = policies === 'mutatingadmissionpolicies';
  const reading: Reading = {
    verb: isMutating && name === '' ? 'list' : 'get',
    apiVersion: kind ? textAt(kind, 'apiVersion') : '*/*',
    kind: kind ? textAt(kind, 'kind') : '*',
    namespace,
    name,
  };
  if (await mayRead(context, reading)) return [];
  // kube-apiserver has them the other way round for one of the two.
  const [who, what] = isMutating ? [reading.verb, shown(context.user)] : [shown(context.user), reading.verb];
  const why = `user ${who} does not have "${what}" permission on the object referenced by paramRef`;
  return [forbiddenValue('spec.paramRef', why)];
}

function paramKindOf(policy: KubeObject): JsonObject | undefined {
  return objectAt(objectAt(policy as JsonObject, 'spec'), 'paramKind');
}

async function mayRead({ user, mayRead: ask }: StrategyContext, reading: Reading): Promise<boolean> {
  if (!ask || user?.groups.includes('system:masters')) return true;
  return ask(reading);
}

/** As Go prints it. */
function shown({ username, uid = '', groups, extra = {} }: UserInfo): string {
  const more = Object.entries(extra)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(' ')}]`);
  return `&{${username} ${uid} [${groups.join(' ')}] map[${more.join(' ')}]}`;
}
