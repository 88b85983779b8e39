import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../api/index.ts';
import { apply, find } from '../../strategy-run.testing.ts';

const key = 'container.apparmor.security.beta.kubernetes.io/c';
const warning = `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
const local = (localhostProfile: string): JsonObject => ({ type: 'Localhost', localhostProfile });

/** What becomes of a pod whose container has this annotation, this profile and this one of the pod; and what is told. */
async function made(annotation: string, own?: JsonObject, whole?: JsonObject, more: JsonObject = {}) {
  const container = { name: 'c', image: 'i', ...(own && { securityContext: { appArmorProfile: own } }) };
  const spec = { containers: [container], ...(whole && { securityContext: { appArmorProfile: whole } }), ...more };
  const warned: string[] = [];
  const body = { metadata: { annotations: { [key]: annotation } }, spec };
  const { created, errors, strategy, context } = await apply(find('pods'), body, {}, (text) => warned.push(text));
  warned.push(...(strategy.warnings?.(created, undefined, context) ?? []));
  const [first] = (created.spec as { containers: JsonObject[] }).containers;
  return { profile: (first!.securityContext as JsonObject | undefined)?.appArmorProfile, errors, warned };
}

it.each<[annotation: string, profile: JsonObject | undefined]>([
  ['unconfined', { type: 'Unconfined' }],
  ['runtime/default', { type: 'RuntimeDefault' }],
  ['localhost/p', local('p')],
  ['', undefined],
])('an old annotation %j becomes the profile %j', async (annotation, profile) =>
  expect(await made(annotation)).toEqual({ profile, errors: [], warned: [warning] }),
);

it('one that says what the pod says is left alone, and one that says something else is believed', async () => {
  expect(await made('localhost/p', undefined, local('p'))).toEqual({ profile: undefined, errors: [], warned: [] });
  expect(await made('unconfined', undefined, local('p'))).toEqual({
    profile: { type: 'Unconfined' },
    errors: [],
    warned: [warning],
  });
});

it('on windows it says nothing', async () =>
  expect(await made('unconfined', undefined, undefined, { os: { name: 'windows' } })).toEqual({
    profile: undefined,
    errors: [],
    warned: [],
  }));

const path = 'spec.containers[0].securityContext.appArmorProfile';
const typeText = `${path}.type: Forbidden: apparmor type in annotation and field must match`;
const profileText = `${path}.localhostProfile: Forbidden: apparmor profile in annotation and field must match`;

it.each<[annotation: string, own: JsonObject, want: string[]]>([
  ['unconfined', { type: 'Unconfined' }, []],
  ['runtime/default', { type: 'Unconfined' }, [typeText]],
  ['localhost/p', { type: 'RuntimeDefault' }, [typeText]],
  ['unconfined', local('p'), [typeText]],
  ['localhost/q', local('p'), [profileText]],
])('an annotation %j beside %j: %j', async (annotation, own, want) =>
  expect((await made(annotation, own)).errors).toEqual(want),
);

it('templates are asked the same, also about seccomp', async () => {
  const template = (context: JsonObject, annotations: JsonObject): JsonObject => ({
    metadata: { labels: { a: 'b' }, annotations },
    spec: { containers: [{ name: 'c', image: 'i' }], securityContext: context },
  });
  const faults = async (context: JsonObject, annotations: JsonObject): Promise<string[]> => {
    const spec = { selector: { matchLabels: { a: 'b' } }, template: template(context, annotations) };
    return (await apply(find('deployments.apps'), { spec })).errors;
  };
  expect(await faults({ appArmorProfile: { type: 'RuntimeDefault' } }, { [key]: 'unconfined' })).toEqual([
    `spec.template.${typeText}`,
  ]);
  const seccomp = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' };
  expect(await faults({ seccompProfile: { type: 'RuntimeDefault' } }, seccomp)).toEqual([
    'spec.template.spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match',
  ]);
  expect(await faults({ seccompProfile: { type: 'Unconfined' } }, seccomp)).toEqual([]);
});
