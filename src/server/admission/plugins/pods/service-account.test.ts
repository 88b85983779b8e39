import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../api/index.ts';
import { admitted, type TestWrite } from '../../admission.testing.ts';
import { serviceAccount } from './service-account.ts';

const accountOf = (name: string, more: JsonObject = {}, annotations: Record<string, string> = {}) => ({
  metadata: { name, namespace: 'ns', annotations },
  ...more,
});
const path = '/var/run/secrets/kubernetes.io/serviceaccount';

function create(spec: JsonObject, accounts: readonly JsonObject[], more: Partial<TestWrite> = {}) {
  const object = { spec: { containers: [{ name: 'c' }], ...spec }, ...more.object };
  return admitted(serviceAccount, { resource: 'pods', ...more, object, others: { '/serviceaccounts': accounts } });
}

type Spec = JsonObject & { volumes?: JsonObject[]; containers: JsonObject[] };

describe('ServiceAccount', () => {
  it('gives a Pod the default account, a token and what is needed to pull images', async () => {
    const { object } = await create({}, [accountOf('default', { imagePullSecrets: [{ name: 'p' }] })]);
    const spec = object.spec as Spec;
    const name = String(spec.volumes?.[0]?.name);
    expect(name).toMatch(/^kube-api-access-[a-z0-9]{5}$/);
    expect(spec).toMatchObject({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      imagePullSecrets: [{ name: 'p' }],
      containers: [{ volumeMounts: [{ name, readOnly: true, mountPath: path }] }],
      volumes: [
        { projected: { defaultMode: 420, sources: [{ serviceAccountToken: { expirationSeconds: 3607 } }, {}, {}] } },
      ],
    });
  });

  it.each<[claim: string, spec: JsonObject, account: JsonObject]>([
    ['the Pod', { automountServiceAccountToken: false }, {}],
    ['the account', {}, { automountServiceAccountToken: false }],
    ['a mount in its place', { containers: [{ name: 'c', volumeMounts: [{ name: 'mine', mountPath: path }] }] }, {}],
  ])('mounts no token where %s says so', async (_claim, spec, account) => {
    const { object } = await create(spec, [accountOf('default', account)]);
    expect((object.spec as Spec).volumes).toBeUndefined();
  });

  it('mounts a token where the Pod wants one and its account none, in a volume that is there', async () => {
    const spec = {
      automountServiceAccountToken: true,
      volumes: [{ name: 'kube-api-access-mine' }],
      serviceAccountName: 'x',
    };
    const { object } = await create(spec, [accountOf('x', { automountServiceAccountToken: false })]);
    expect(object.spec).toMatchObject({
      volumes: [{ name: 'kube-api-access-mine' }],
      containers: [{ volumeMounts: [{ name: 'kube-api-access-mine' }] }],
    });
  });

  it('refuses an account that is not there', async () => {
    await expect(create({ serviceAccountName: 'nobody' }, [])).rejects.toMatchObject({
      code: 403,
      message: 'pods "a" is forbidden: error looking up service account ns/nobody: serviceaccount "nobody" not found',
    });
  });

  it.each<[spec: JsonObject, why: string]>([
    [{ serviceAccountName: 'x' }, 'a mirror pod may not reference service accounts'],
    [{ volumes: [{ name: 'v', secret: {} }] }, 'a mirror pod may not reference secrets'],
    [
      { volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 's' } } }] },
      'a mirror pod may not reference secrets',
    ],
    [{ volumes: [{ name: 'v', azureFile: { shareName: 'x' } }] }, 'a mirror pod may not reference secrets'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: {} }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ])('refuses the mirror Pod %j', async (spec, why) => {
    const metadata = { name: 'a', annotations: { 'kubernetes.io/config.mirror': 'x' } };
    const object = { metadata, spec: { containers: [{ name: 'c' }] } };
    const mirror = { resource: 'pods', object };
    expect((await admitted(serviceAccount, mirror)).object.spec).toEqual(object.spec);
    await expect(admitted(serviceAccount, { ...mirror, object: { metadata, spec } })).rejects.toThrow(why);
  });

  const strict = accountOf(
    'default',
    { secrets: [{ name: 'ok' }], imagePullSecrets: [{ name: 'pull' }] },
    { 'kubernetes.io/enforce-mountable-secrets': 'true' },
  );
  const from = (name: string) => [{ name: 'E', valueFrom: { secretKeyRef: { name } } }];
  it.each<[spec: JsonObject, why: string | undefined]>([
    [{ volumes: [{ name: 'v', secret: { secretName: 'ok' } }] }, undefined],
    [
      { volumes: [{ name: 'v', secret: { secretName: 's' } }] },
      'volume with secret.secretName="s" is not allowed because service account default does not reference that secret',
    ],
    [{ containers: [{ name: 'c', env: from('ok') }] }, undefined],
    [
      { containers: [{ name: 'c', env: from('s') }] },
      'container c with envVar E referencing secret.secretName="s" is not allowed because service account default',
    ],
    [
      { initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 's' } }] }] },
      'init container i with envFrom referencing secret.secretName="s" is not allowed',
    ],
    [
      { imagePullSecrets: [{ name: 's' }] },
      'imagePullSecrets[0].name="s" is not allowed because service account default does not reference that imagePullSecret',
    ],
  ])('lets %j use what a strict account lists: %s', async (spec, why) => {
    if (why === undefined) await create(spec, [strict]);
    else await expect(create(spec, [strict])).rejects.toThrow(why);
  });
});
