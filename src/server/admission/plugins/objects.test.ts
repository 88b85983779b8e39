import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { type Authorizer, alwaysAllow } from '../../auth/authorizer.ts';
import { organizationsOf } from '../../kinds/certificates/signing-request.ts';
import { admitted } from '../admission.testing.ts';
import { alwaysAdmit, alwaysDeny } from './always.ts';
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './certificates.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { denyServiceExternalIps } from './deny-service-external-ips.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { alwaysPullImages } from './pods/always-pull-images.ts';
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';

describe('NamespaceLifecycle', () => {
  const others = {
    '/namespaces': [
      { metadata: { name: 'ns' } },
      { metadata: { name: 'going', deletionTimestamp: '2024-01-01T00:00:00Z' } },
    ],
  };
  const write = { resource: 'configmaps', object: {}, others };

  it('takes new objects into a namespace that is there', async () => {
    await admitted(namespaceLifecycle, write);
    await expect(admitted(namespaceLifecycle, { ...write, namespace: 'none' })).rejects.toMatchObject({
      code: 404,
      message: 'namespaces "none" not found',
    });
  });

  it('takes no new ones into one that goes, and changes what is there', async () => {
    const going = { ...write, namespace: 'going' };
    await expect(admitted(namespaceLifecycle, going)).rejects.toMatchObject({
      code: 403,
      message:
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated',
    });
    await admitted(namespaceLifecycle, { ...going, operation: 'UPDATE', old: {} });
  });

  it('keeps three namespaces', async () => {
    const removal = (name: string) =>
      admitted(namespaceLifecycle, { resource: 'namespaces', operation: 'DELETE', old: { metadata: { name } } });
    for (const name of ['default', 'kube-system', 'kube-public'])
      await expect(removal(name)).rejects.toThrow(
        `namespaces "${name}" is forbidden: this namespace may not be deleted`,
      );
    await removal('kube-node-lease');
  });
});

it.each([
  ['persistentvolumeclaims', undefined, ['kubernetes.io/pvc-protection']],
  ['persistentvolumes', ['example.com/mine'], ['example.com/mine', 'kubernetes.io/pv-protection']],
  ['volumeattributesclasses.storage.k8s.io', ['kubernetes.io/vac-protection'], ['kubernetes.io/vac-protection']],
  ['configmaps', undefined, undefined],
])(
  'StorageObjectInUseProtection: a new object of %s with the finalizers %j has %j',
  async (resource, finalizers, want) => {
    const object = { metadata: { ...(finalizers && { finalizers }) } };
    expect((await admitted(storageObjectInUseProtection, { resource, object })).object.metadata.finalizers).toEqual(
      want,
    );
  },
);

it('DenyServiceExternalIPs: addresses may go and not come', async () => {
  const service = (...externalIPs: string[]) => ({ spec: { externalIPs } });
  const change = (old: string[], object: string[]) =>
    admitted(denyServiceExternalIps, {
      resource: 'services',
      operation: 'UPDATE',
      old: service(...old),
      object: service(...object),
    });
  await change(['10.0.0.1', '10.0.0.2'], ['10.0.0.2']);
  await expect(change(['10.0.0.1'], ['10.0.0.2'])).rejects.toThrow(
    'Use of external IPs is denied by admission control',
  );
});

it('AlwaysPullImages, AlwaysDeny and AlwaysAdmit do what they are called', async () => {
  const write = { resource: 'pods', object: { spec: { containers: [{ name: 'c', imagePullPolicy: 'Never' }] } } };
  const { object } = await admitted(alwaysPullImages, write);
  expect(object.spec).toEqual({ containers: [{ name: 'c', imagePullPolicy: 'Always' }] });
  await admitted(alwaysAdmit, write);
  await expect(admitted(alwaysDeny, write)).rejects.toThrow('admission control is denying all modifications');
});

it('AlwaysPullImages leaves alone what pulls nothing else, and not what brings an image', async () => {
  const podWith = (...images: string[]) => ({
    spec: { containers: images.map((image) => ({ name: image, image, imagePullPolicy: 'IfNotPresent' })) },
  });
  const update = async (...images: string[]) => {
    const write = {
      resource: 'pods',
      operation: 'UPDATE' as const,
      old: podWith('a', 'b'),
      object: podWith(...images),
    };
    const { containers } = (await admitted(alwaysPullImages, write)).object.spec as { containers: JsonObject[] };
    return containers.map(({ imagePullPolicy }) => imagePullPolicy);
  };
  expect(await update('b', 'a')).toEqual(['IfNotPresent', 'IfNotPresent']);
  expect(await update('a', 'c')).toEqual(['Always', 'Always']);
});

it('TaintNodesByCondition: a new node is tainted once', async () => {
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const write = { resource: 'nodes', object: {} };
  expect((await admitted(taintNodesByCondition, write)).object.spec).toEqual({ taints: [notReady] });
  const tainted = { spec: { taints: [notReady] } };
  expect((await admitted(taintNodesByCondition, { ...write, object: tainted })).object.spec).toEqual(tainted.spec);
});

describe('DefaultStorageClass', () => {
  const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const classOf = (name: string, creationTimestamp: string, annotations = isDefault) => ({
    metadata: { name, creationTimestamp, annotations },
  });
  const classes = [classOf('old', '2024-01-01T00:00:00Z'), classOf('b', '2024-01-02T00:00:00Z')];
  const others = { 'storage.k8s.io/storageclasses': [...classes, classOf('a', '2024-01-02T00:00:00Z')] };
  const write = { resource: 'persistentvolumeclaims', others };

  it('is the youngest of the defaults, then the first by name', async () => {
    const { object } = await admitted(defaultStorageClass, { ...write, object: {} });
    expect(object.spec).toEqual({ storageClassName: 'a' });
  });

  it.each([
    [{ spec: { storageClassName: '' } }],
    [{ metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'mine' } }, spec: {} }],
  ])('is not for %j', async (object) => {
    expect((await admitted(defaultStorageClass, { ...write, object })).object.spec).toEqual(object.spec);
  });
});

it('DefaultIngressClass: an Ingress without a class gets the default', async () => {
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
  const others = { 'networking.k8s.io/ingressclasses': [{ metadata: { name: 'nginx', annotations } }] };
  const { object } = await admitted(defaultIngressClass, {
    resource: 'ingresses.networking.k8s.io',
    object: {},
    others,
  });
  expect(object.spec).toEqual({ ingressClassName: 'nginx' });
});

describe('PersistentVolumeClaimResize', () => {
  const claim = (storage: string, storageClassName: string) => ({
    spec: { storageClassName, resources: { requests: { storage } } },
  });
  const classes = [{ metadata: { name: 'grows' }, allowVolumeExpansion: true }, { metadata: { name: 'fixed' } }];
  const grow = (from: string, to: string, name: string) =>
    admitted(persistentVolumeClaimResize, {
      resource: 'persistentvolumeclaims',
      operation: 'UPDATE',
      old: claim(from, name),
      object: claim(to, name),
      others: { 'storage.k8s.io/storageclasses': classes },
    });

  it('lets a claim grow whose class allows it', async () => {
    await grow('1Gi', '2Gi', 'grows');
    await grow('1Gi', '1024Mi', 'fixed');
    for (const name of ['fixed', 'none', ''])
      await expect(grow('1Gi', '2Gi', name)).rejects.toThrow('only dynamically provisioned pvc can be resized');
  });
});

describe('the plugins of certificates', () => {
  const signer: Authorizer = {
    authorize: (_user, attributes) => ({
      allowed: attributes.kind === 'resource' && attributes.name === 'example.com/*' && attributes.verb === 'approve',
    }),
    rulesFor: () => ({ rules: [] }),
  };
  const write = { resource: 'certificatesigningrequests.certificates.k8s.io', operation: 'UPDATE' as const };
  const of = (signerName: string) => ({ spec: { signerName } });

  it('ask for the right to speak for the signer', async () => {
    const approve = { ...write, subresource: 'approval' };
    await admitted(certificateApproval(signer), { ...approve, object: of('x'), old: of('example.com/s') });
    await expect(
      admitted(certificateApproval(signer), { ...approve, object: of('example.com/s'), old: of('other.com/s') }),
    ).rejects.toThrow('user not permitted to approve requests with signerName "other.com/s"');
    const sign = { ...write, subresource: 'status', old: of('example.com/s') };
    await admitted(certificateSigning(signer), { ...sign, object: of('example.com/s') });
    const signed = { ...of('example.com/s'), status: { certificate: 'x' } };
    await expect(admitted(certificateSigning(signer), { ...sign, object: signed })).rejects.toThrow(
      'user not permitted to sign requests with signerName "example.com/s"',
    );
    await admitted(certificateSigning(alwaysAllow), { ...sign, object: signed });
  });

  const requestFor = (subject: string) => {
    const args = [
      'req',
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      '/dev/null',
    ];
    return execFileSync('openssl', [...args, '-subj', subject], { stdio: ['ignore', 'pipe', 'ignore'] });
  };

  it('refuse a client certificate of system:masters', async () => {
    const ask = (subject: string, signerName: string) =>
      admitted(certificateSubjectRestriction, {
        resource: write.resource,
        object: { spec: { signerName, request: requestFor(subject).toString('base64') } },
      });
    await ask('/O=people/CN=me', 'kubernetes.io/kube-apiserver-client');
    await ask('/O=system:masters/CN=me', 'example.com/s');
    await expect(ask('/O=people/O=system:masters/CN=me', 'kubernetes.io/kube-apiserver-client')).rejects.toThrow(
      'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    );
  });

  it('read no further than the request is long, wherever it is cut', () => {
    const pem = requestFor('/O=people/CN=me').toString();
    const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
    expect(organizationsOf(der)).toEqual(['people']);
    for (let length = 0; length < der.length; length++)
      expect(organizationsOf(der.subarray(0, length))).toBeUndefined();
  });
});
