import { describe, expect, it } from 'vitest';
import type { corev1 } from '../../client/index.ts';
import { findVolume, isMeantFor, misfitOfVolume } from './volume-match.ts';

type Claim = corev1.PersistentVolumeClaim;
type Volume = corev1.PersistentVolume;
type Spec = Partial<corev1.PersistentVolumeSpec>;

const metadata = (name: string, more: object = {}) => ({
  ...{ name, uid: `uid-of-${name}`, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...more,
});
const claim = (spec: Partial<corev1.PersistentVolumeClaimSpec> = {}): Claim =>
  ({
    metadata: metadata('c', { namespace: 'n' }),
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } }, ...spec },
  }) as Claim;
const volume = (name: string, spec: Spec = {}, more: object = {}, phase = 'Available'): Volume =>
  ({
    metadata: metadata(name, more),
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '10Gi' }, ...spec },
    status: { phase },
  }) as Volume;

const of = (size: string) => ({ capacity: { storage: size } });
const ours = (uid?: string) => ({ claimRef: { namespace: 'n', name: 'c', ...(uid && { uid }) } });
const theirs = { claimRef: { namespace: 'n', name: 'other' } };
const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const both = { accessModes: ['ReadWriteOnce' as const, 'ReadOnlyMany' as const] };

describe('findVolume()', () => {
  it.each<[claim: string, spec: Partial<Claim['spec']>, volumes: Volume[], want: string | undefined]>([
    ['nothing where nothing is', {}, [], undefined],
    [
      'the smallest that is large enough',
      {},
      [volume('l', of('30Gi')), volume('m', of('20Gi')), volume('s', of('5Gi'))],
      'm',
    ],
    ['sizes whatever they are written in', {}, [volume('a', of('11Gi')), volume('b', of('10240Mi'))], 'b'],
    ['the first by name of equals', {}, [volume('b'), volume('a')], 'a'],
    ['none that is too small', {}, [volume('a', of('9Gi'))], undefined],
    ['none of another class', {}, [volume('a', { storageClassName: 'fast' })], undefined],
    ['none without a class for a class', { storageClassName: 'fast' }, [volume('a')], undefined],
    ['one of its class', { storageClassName: 'fast' }, [volume('a'), volume('b', { storageClassName: 'fast' })], 'b'],
    ['an empty class is none', { storageClassName: '' }, [volume('a')], 'a'],
    [
      'the class of old',
      { storageClassName: 'fast' },
      [volume('a', {}, { annotations: { 'volume.beta.kubernetes.io/storage-class': 'fast' } })],
      'a',
    ],
    ['all its access modes', { accessModes: both.accessModes }, [volume('a'), volume('b', both)], 'b'],
    ['the fewest modes before the smallest size', {}, [volume('a', both), volume('b', of('20Gi'))], 'b'],
    ['its volume mode', { volumeMode: 'Block' }, [volume('a'), volume('b', { volumeMode: 'Block' })], 'b'],
    ['a mode that is not said is Filesystem', { volumeMode: 'Filesystem' }, [volume('a')], 'a'],
    [
      'its attributes',
      { volumeAttributesClassName: 'gold' },
      [volume('a'), volume('b', { volumeAttributesClassName: 'gold' })],
      'b',
    ],
    [
      'what its selector selects',
      { selector: { matchLabels: { tier: 'a' } } },
      [volume('a'), volume('b', {}, { labels: { tier: 'a' } })],
      'b',
    ],
    ['none that is going', {}, [volume('a', {}, going)], undefined],
    [
      'none that is not known to be free',
      {},
      [volume('a', {}, {}, 'Pending'), volume('b', {}, {}, 'Released')],
      undefined,
    ],
    ['none that is meant for another', {}, [volume('a', theirs)], undefined],
    ['none of a claim of its name before it', {}, [volume('a', ours('of-old'), {}, 'Released')], undefined],
    ['what is meant for it before what is smaller', {}, [volume('a'), volume('b', { ...of('20Gi'), ...ours() })], 'b'],
    [
      'what is meant for it, whatever its class and labels',
      { selector: { matchLabels: { tier: 'a' } } },
      [volume('a', { ...ours(), storageClassName: 'fast' }, {}, 'Pending')],
      'a',
    ],
    ['what is meant for it only if it is large enough', {}, [volume('a', { ...ours(), ...of('1Gi') })], undefined],
  ])('%s', (_claim, spec, volumes, want) => {
    expect(findVolume(claim(spec), volumes)?.metadata.name).toBe(want);
    expect(findVolume(claim(spec), [...volumes].reverse())?.metadata.name).toBe(want);
  });

  it('takes nothing but what is meant for a claim that waits for its consumer', () => {
    expect(findVolume(claim(), [volume('a')], true)).toBeUndefined();
    expect(findVolume(claim(), [volume('a'), volume('b', ours())], true)?.metadata.name).toBe('b');
  });
});

it.each<[claim: string, spec: Spec, want: boolean]>([
  ['one that names nobody is not', {}, false],
  ['by name', ours(), true],
  ['by name and uid', ours('uid-of-c'), true],
  ['not of another uid', ours('another'), false],
  ['not of another name', theirs, false],
  ['not of another namespace', { claimRef: { namespace: 'm', name: 'c' } }, false],
])('isMeantFor() %s', (_claim, spec, want) => expect(isMeantFor(volume('v', spec), claim())).toBe(want));

it.each<[want: string | undefined, spec: Spec, more?: object]>([
  [undefined, {}],
  ['the volume is marked for deletion "v"', {}, going],
  ['requested PV is too small', of('1Gi')],
  ['storageClassName does not match', { storageClassName: 'fast' }],
  ['volumeAttributesClassName does not match', { volumeAttributesClassName: 'gold' }],
  ['incompatible volumeMode', { volumeMode: 'Block' }],
  ['incompatible accessMode', { accessModes: ['ReadOnlyMany'] }],
])('misfitOfVolume() %s', (want, spec, more) => expect(misfitOfVolume(claim(), volume('v', spec, more))).toBe(want));
