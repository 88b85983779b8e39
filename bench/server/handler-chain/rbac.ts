/**
 * What a decision of the RBAC authoriser costs, with the objects every server has and 1,000 bindings on top: for those
 * who have a handful of rights, as nearly all do, and for one to whom every single binding applies.
 *
 * Decisions are too short to be timed one by one: a round times many.
 */
import type { KubeObject } from '../../../src/api/index.ts';
import type { Attributes } from '../../../src/server/auth/authorizer.ts';
import { bootstrapObjects } from '../../../src/server/rbac/bootstrap-objects.ts';
import { RbacAuthorizer } from '../../../src/server/rbac/rbac-authorizer.ts';
import type { UserInfo } from '../../../src/server/request/user-info.ts';
import type { Benchmark, Context } from '../../lib/contenders.ts';
import { type Row, valueRow } from '../../lib/report.ts';

const BINDINGS = 1000;
const ROUNDS = 5;
const LIMIT_MICROS = 10;

export const rbacDecisions: Benchmark = { name: 'rbac', run };

type Case = {
  readonly what: string;
  readonly user: UserInfo;
  readonly attributes: Attributes;
  readonly allowed: boolean;
};

const pods = (namespace: string, verb = 'list'): Attributes => ({
  kind: 'resource',
  verb,
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace,
  name: '',
});
const authenticated = (username: string, ...groups: string[]): UserInfo => ({
  username,
  groups: [...groups, 'system:authenticated'],
});

const cases: readonly Case[] = [
  { what: 'allowed in a namespace', user: authenticated('user-500'), attributes: pods('ns-500'), allowed: true },
  { what: 'denied', user: authenticated('user-500'), attributes: pods('ns-501'), allowed: false },
  {
    what: 'a controller, allowed everywhere',
    user: authenticated('system:kube-scheduler'),
    attributes: pods('', 'watch'),
    allowed: true,
  },
  {
    what: 'a path, as a visitor',
    user: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
    attributes: { kind: 'path', verb: 'get', path: '/healthz' },
    allowed: true,
  },
  {
    what: `denied, with ${BINDINGS} roles of one's own`,
    user: authenticated('user-everything', 'everybody'),
    attributes: pods('', 'delete'),
    allowed: false,
  },
];

async function run({ isQuick, signal, say }: Context): Promise<Row[]> {
  const rbac = filled();
  const count = isQuick ? 2000 : 20_000;
  return cases.map(({ what, user, attributes, allowed }) => {
    signal.throwIfAborted();
    say(`rbac: ${what}`);
    if (rbac.authorize(user, attributes).allowed !== allowed)
      throw new Error(`Cannot measure "${what}": wrong decision`);
    const micros: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const begin = performance.now();
      for (let i = 0; i < count; i++) rbac.authorize(user, attributes);
      micros.push(((performance.now() - begin) * 1000) / count);
    }
    const hasLimit = !what.includes(String(BINDINGS)) && !isQuick;
    return valueRow(`rbac: ${what}`, 'µs', micros, {
      note: `${BINDINGS} bindings`,
      ...(hasLimit && { target: { value: LIMIT_MICROS } }),
    });
  });
}

/** A namespace for each of so many users, and as many roles for everybody in one group. */
function filled(): RbacAuthorizer {
  const rbac = new RbacAuthorizer();
  const set = (plural: string, object: KubeObject) => {
    if (plural.endsWith('rolebindings')) rbac.index.setBinding(object);
    else if (plural.endsWith('roles')) rbac.index.setRole(object);
  };
  for (const { plural, object } of bootstrapObjects()) set(plural, object);
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  for (let i = 0; i < BINDINGS; i++) {
    const metadata = { name: `b-${i}` };
    set('clusterroles', {
      kind: 'ClusterRole',
      apiVersion,
      metadata: { name: `role-${i}` },
      rules: [{ verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods', `things-${i}`] }],
    });
    set('rolebindings', {
      kind: 'RoleBinding',
      apiVersion,
      metadata: { ...metadata, namespace: `ns-${i}` },
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name: `user-${i}` }],
    });
    set('clusterrolebindings', {
      kind: 'ClusterRoleBinding',
      apiVersion,
      metadata,
      roleRef: { kind: 'ClusterRole', name: `role-${i}` },
      subjects: [{ kind: 'Group', name: 'everybody' }],
    });
  }
  return rbac;
}
