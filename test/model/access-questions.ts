/** Asking what one may do, giving rights to others, and paths that are no objects. */
import type { Answer } from '../../src/testing/index.ts';
import type { Random } from '../support/random.ts';
import type { Maker, Try } from './access-try.ts';
import { NAMESPACES, RBAC } from './access-world.ts';
import { aRule } from './random-policies.ts';
import {
  type Person,
  type Policy,
  type Question,
  type RbacModel,
  type ResourceQuestion,
  type Rule,
  ruleAllows,
} from './rbac-model.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1';
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const NOTHING = { codes: [201], tells: [] };

/** `people`: whom one may ask about. */
export function questions(people: readonly Person[]): readonly Maker[] {
  return [ownAccess, ownAccess, ownRules, (random) => accessOf(random, people), giveRole, giveBinding, askPath];
}

function createOf(resource: string, namespace = '', group = 'authorization.k8s.io'): ResourceQuestion {
  return { verb: 'create', group, resource, subresource: '', namespace, name: '' };
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate', '*'];
const RESOURCES: readonly [group: string, resource: string, subresource: string][] = [
  ['', 'configmaps', ''],
  ['', 'secrets', ''],
  ['', 'pods', ''],
  ['', 'pods', 'status'],
  ['', 'serviceaccounts', 'token'],
  ['apps', 'deployments', 'scale'],
  ['coordination.k8s.io', 'leases', ''],
  ['example.com', 'widgets', 'scale'],
  ['*', '*', ''],
];

function aQuestion(random: Random, namespaces: readonly string[] = [...NAMESPACES, '']): ResourceQuestion {
  const [group, resource, subresource] = random.pick(RESOURCES);
  const name = random.pick(['', '', 'a', 'b', 'new']);
  return { verb: random.pick(VERBS), group, resource, subresource, namespace: random.pick(namespaces), name };
}

function attributesOf(question: Question): object {
  return 'path' in question ? { nonResourceAttributes: question } : { resourceAttributes: question };
}

const PATHS = ['/metrics', '/livez/ping', '/version', '/api', '/foo', '/foo/bar', '/foobar', '/logs/'];

function aPath(random: Random): Question {
  return { verb: random.pick(['get', 'post']), path: random.pick(PATHS) };
}

function expectAllowed({ body }: Answer, allowed: boolean): void {
  const { status } = JSON.parse(body.toString()) as { status: { allowed: boolean } };
  if (status.allowed !== allowed) throw new Error(`the review says ${status.allowed}, the model ${allowed}`);
}

function ownAccess(random: Random): Try {
  const question = random.chance(0.2) ? aPath(random) : aQuestion(random);
  return {
    ...NOTHING,
    method: 'POST',
    path: `${REVIEWS}/selfsubjectaccessreviews`,
    body: { spec: attributesOf(question) },
    needs: [createOf('selfsubjectaccessreviews')],
    look: (answer, model, person) => expectAllowed(answer, model.allows(person, question)),
  };
}

function accessOf(random: Random, people: readonly Person[]): Try {
  const { name: user, groups } = random.pick(people);
  const isLocal = random.chance(0.5);
  const namespace = isLocal ? random.pick(NAMESPACES) : '';
  const question = aQuestion(random, isLocal ? [namespace] : undefined);
  const plural = isLocal ? 'localsubjectaccessreviews' : 'subjectaccessreviews';
  return {
    ...NOTHING,
    method: 'POST',
    path: isLocal ? `${REVIEWS}/namespaces/${namespace}/${plural}` : `${REVIEWS}/${plural}`,
    body: { spec: { user, groups, ...attributesOf(question) } },
    needs: [createOf(plural, namespace)],
    look: (answer, model) => expectAllowed(answer, model.allows({ name: user, groups }, question)),
  };
}

/** The list of rules allows exactly what is allowed. */
function ownRules(random: Random): Try {
  const namespace = random.pick(NAMESPACES);
  const asked = Array.from({ length: 30 }, () => aQuestion(random, [namespace]));
  return {
    ...NOTHING,
    method: 'POST',
    path: `${REVIEWS}/selfsubjectrulesreviews`,
    body: { spec: { namespace } },
    needs: [createOf('selfsubjectrulesreviews')],
    look: ({ body }, model, person) => {
      const { status } = JSON.parse(body.toString()) as { status: { resourceRules: Rule[] } };
      for (const question of asked) {
        const listed = status.resourceRules.some((rule) => ruleAllows(rule, question));
        if (listed !== model.allows(person, question))
          throw new Error(`the rules ${listed ? '' : 'do not '}allow ${JSON.stringify(question)}, the model differs`);
      }
    },
  };
}

/** Nobody gives away what he does not have, unless he may `escalate`. */
function giveRole(random: Random): Try {
  const namespace = random.pick(NAMESPACES);
  const rules = [aRule(random, false)];
  return {
    ...NOTHING,
    method: 'POST',
    path: `${RBAC}/namespaces/${namespace}/roles`,
    query: { dryRun: 'All' },
    body: { metadata: { name: 'given' }, rules },
    needs: [createOf('roles', namespace, RBAC_GROUP)],
    alsoForbidden: (model, person) =>
      !model.holds(person, namespace, rules) &&
      !model.allows(person, { ...createOf('roles', namespace, RBAC_GROUP), verb: 'escalate', name: 'given' }),
  };
}

/** The same for a binding to a role, unless he may `bind` it. */
function giveBinding(random: Random): Try {
  const namespace = random.pick(NAMESPACES);
  const roleRef = { apiGroup: RBAC_GROUP, kind: random.pick(['Role', 'ClusterRole']), name: random.pick(['r0', 'r1']) };
  const plural = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
  const mayBind = (model: RbacModel, person: Person) =>
    model.allows(person, { ...createOf(plural, namespace, RBAC_GROUP), verb: 'bind', name: roleRef.name });
  return {
    tells: [],
    codes: [201, 404], // a role that is not there
    method: 'POST',
    path: `${RBAC}/namespaces/${namespace}/rolebindings`,
    query: { dryRun: 'All' },
    body: { metadata: { name: 'given' }, roleRef, subjects: [{ kind: 'User', name: 'x' }] } satisfies Omit<
      Policy,
      'kind'
    >,
    needs: [createOf('rolebindings', namespace, RBAC_GROUP)],
    alsoForbidden: (model, person) => {
      const rules = model.rulesIn(roleRef, namespace);
      return rules !== undefined && !mayBind(model, person) && !model.holds(person, namespace, rules);
    },
    look: ({ status }, model, person) => {
      const isThere = model.rulesIn(roleRef, namespace) !== undefined;
      if ((status === 201) !== (isThere || mayBind(model, person))) throw new Error(`a binding is answered ${status}`);
    },
  };
}

function askPath(random: Random): Try {
  const path = random.pick(PATHS);
  return { method: 'GET', path, needs: [{ verb: 'get', path }], codes: [200, 404], tells: [] };
}
