/** Rights as large as a body or a header can make them: what is done with them grows no faster than they do. */
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import type { KubeObject } from '../../api/index.ts';
import { reviewAccess, reviewOwnRules } from '../auth/access-review.ts';
import { alwaysAllow } from '../auth/authorizer.ts';
import { impersonate } from '../auth/impersonation.ts';
import type { Resource } from '../registry/resource.ts';
import { escalationGuard } from './escalation.ts';
import type { PolicyRule } from './policy-rule.ts';
import { RbacAuthorizer } from './rbac-authorizer.ts';

const roles = { group: 'rbac.authorization.k8s.io', plural: 'roles' } as Resource;
const eve = { username: 'eve', groups: ['system:authenticated'] };
const names = (what: string, count: number) => Array.from({ length: count }, (_, i) => `${what}${i}`);
const role = (name: string, rules: readonly PolicyRule[]): KubeObject => ({
  kind: 'Role',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { name, namespace: 'x' },
  rules: rules as never,
});
const binding = (name: string, roleName: string): KubeObject => ({
  kind: 'RoleBinding',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { name, namespace: 'x' },
  roleRef: { kind: 'Role', name: roleName },
  subjects: [{ kind: 'User', name: 'eve' }],
});

/** Where eve has these rules. */
function whereHeld(rules: readonly PolicyRule[]): RbacAuthorizer {
  const rbac = new RbacAuthorizer();
  rbac.index.setRole(role('held', rules));
  rbac.index.setBinding(binding('held', 'held'));
  return rbac;
}

const give = async (rbac: RbacAuthorizer, rules: readonly PolicyRule[]) =>
  escalationGuard(rbac.index, rbac)(eve, roles, role('given', rules), undefined, '');

/** So many combinations as the third power of its size. */
const cube = (size: number): PolicyRule => ({
  verbs: names('v', size),
  apiGroups: names('g', size),
  resources: names('r', size),
});
const halves = ({ verbs, ...rest }: PolicyRule): PolicyRule[] => {
  const middle = verbs.length / 2;
  return [
    { ...rest, verbs: verbs.slice(0, middle) },
    { ...rest, verbs: verbs.slice(middle) },
  ];
};

describe('giving rules away', () => {
  it('costs what they are long, not all their combinations, to who has nothing', () =>
    expectLinear('a refused cube', {
      make: cube,
      from: 25,
      limit: 3200,
      run: (rule) => give(whereHeld([]), [rule]).catch(() => {}),
    }));

  it('costs what they are long, not all their combinations, to who has them in parts', () =>
    expectLinear('a held cube', {
      make: cube,
      from: 25,
      limit: 3200,
      run: (rule) => give(whereHeld(halves(rule)), [rule]),
    }));

  it('costs what they are long, for paths too, or is refused', () =>
    expectLinear('many paths', {
      make: (size): PolicyRule => ({ verbs: ['get'], nonResourceURLs: names('/p', size) }),
      from: 1000,
      limit: 64_000,
      run: (rule) => give(whereHeld([rule]), [rule]).catch(() => {}),
    }));

  it('costs what they are long to who has as many', () => {
    const many = (size: number) =>
      Array.from({ length: size }, (_, i) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${i}`] }));
    return expectLinear('many rules', {
      make: many,
      from: 200,
      limit: 50_000,
      run: (rules) => give(whereHeld(rules), rules),
    });
  });

  it('is refused where comparing takes too long, and holds up nobody meanwhile', async () => {
    // Every rule has part of every other: nothing but comparing all with all tells whether one is missing.
    const held = Array.from({ length: 3000 }, (_, i) => ({
      verbs: names('v', 40).filter((_verb, at) => (i >> (at % 12)) & 1),
      apiGroups: [`g${i % 50}`],
      resources: ['r'],
    }));
    const wanted = Array.from({ length: 300 }, () => ({
      verbs: names('v', 40),
      apiGroups: names('g', 50),
      resources: ['r'],
    }));
    let turns = 0;
    const clock = setInterval(() => turns++, 1);
    await expect(give(whereHeld(held), wanted)).rejects.toMatchObject({
      code: 403,
      message:
        'roles.rbac.authorization.k8s.io "given" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions that are too many to be compared with those currently held',
    });
    clearInterval(clock);
    expect(turns).toBeGreaterThan(1);
  });

  it('a refusal tells of as much as fits into it', async () => {
    const refusal = await give(whereHeld([]), [cube(300)]).catch((err: Error) => err);
    const { message } = refusal as Error;
    expect(message.length).toBeGreaterThan(1000);
    expect(message.length).toBeLessThan(100_000);
    expect(message.endsWith('\n...')).toBe(true);
  });

  it('a refusal of long names is not longer than they are by much', () =>
    expectLinear('long names', {
      make: (size): PolicyRule => ({ verbs: ['get'], apiGroups: ['g'.repeat(size)], resources: names('r', 1000) }),
      from: 1000,
      limit: 1_000_000,
      run: (rule) => give(whereHeld([]), [rule]).catch(() => {}),
    }));
});

const onSecret = {
  kind: 'resource',
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'secrets',
  subresource: '',
} as const;

describe('deciding', () => {
  it.each<[string, (size: number) => PolicyRule[]]>([
    ['names', (size) => [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: names('n', size) }]],
    ['verbs', (size) => [{ verbs: names('v', size), apiGroups: [''], resources: ['secrets'] }]],
    ['groups', (size) => [{ verbs: ['get'], apiGroups: names('g', size), resources: ['secrets'] }]],
    ['resources', (size) => [{ verbs: ['get'], apiGroups: [''], resources: names('r', size) }]],
  ])('costs the same however many %s a rule has', (_what, make) => {
    const [few, many] = [whereHeld(make(10)), whereHeld(make(100_000))];
    const askMany = (rbac: RbacAuthorizer) => {
      const before = process.cpuUsage();
      for (let i = 0; i < 2000; i++) rbac.authorize(eve, { ...onSecret, namespace: 'x', name: 'nobody' });
      return process.cpuUsage(before).user;
    };
    askMany(few); // what the compiler learns
    askMany(many);
    expect(askMany(many)).toBeLessThan(100 * Math.max(askMany(few), 500));
  });

  const many = (size: number) =>
    whereHeld(Array.from({ length: size }, () => ({ verbs: ['x'], apiGroups: [''], resources: ['secrets'] })));

  it('grows with the number of rules for the resource', () =>
    expectLinear('rules', {
      make: many,
      from: 10_000,
      limit: 160_000,
      run: (rbac) => {
        for (let i = 0; i < 20; i++) rbac.authorize(eve, { ...onSecret, namespace: 'x', name: '' });
      },
    }));

  it('and a list of very many rules is given whole', () => {
    const asked = { kind: '', apiVersion: '', metadata: {}, spec: { namespace: 'x' } };
    expect(reviewOwnRules(many(300_000), eve, asked).resourceRules).toHaveLength(300_000);
  });

  it('about somebody with very many groups grows with their number', () =>
    expectLinear('groups of a review', {
      make: (size) => ({ user: 'x', groups: names('g', size), extra: { e: names('e', size) } }),
      from: 5000,
      limit: 160_000,
      run: (subject) => {
        const spec = { ...subject, resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'x' } };
        return reviewAccess(whereHeld([]), { kind: '', apiVersion: '', metadata: {}, spec: spec as never });
      },
    }));

  it('a refusal names only so many of the roles that are not there', () => {
    const rbac = new RbacAuthorizer();
    for (let i = 0; i < 5000; i++) rbac.index.setBinding(binding(`b${i}`, `gone-${i}`));
    const { allowed, reason = '' } = rbac.authorize(eve, { ...onSecret, namespace: 'x', name: '' });
    expect(allowed).toBe(false);
    expect(reason).toContain('"gone-0" not found');
    expect(reason.length).toBeLessThan(20_000);
    expect(reason.endsWith(', ...]')).toBe(true);
  });
});

it.each([
  ['groups', () => ['Impersonate-Group', 'g']],
  ['values of one extra', () => ['Impersonate-Extra-Scope', 's']],
  ['extras', (i: number) => [`Impersonate-Extra-S${i}`, 's']],
])('acting as somebody with many %s grows with their number', (_what, header) =>
  expectLinear('headers', {
    make: (size) => ['Impersonate-User', 'x', ...Array.from({ length: size }, (_, i) => header(i)).flat()],
    from: 1000, // all that a request may have
    limit: 16_000,
    run: (headers) => impersonate(eve, headers, alwaysAllow),
  }),
);
