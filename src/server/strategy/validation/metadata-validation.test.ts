import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { fieldErrorText } from '../../../api/errors/field-error.ts';
import { invalid } from '../../../api/errors/status-error.ts';
import type { ObjectMeta } from '../../../api/objects.ts';
import { checkDnsSubdomain } from '../../../api/scalars/names.ts';
import {
  repeatedChecksOf,
  validateFieldManager,
  validateObjectMeta,
  validateObjectMetaUpdate,
  validateReplacedMeta,
} from './metadata-validation.ts';

const good: ObjectMeta = { name: 'a', namespace: 'ns', uid: 'u1', creationTimestamp: '2024-01-01T00:00:00Z' };
const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u2' };
const rules = { isNamespaced: true, validateName: checkDnsSubdomain };
const create = (meta: ObjectMeta, more = {}) => validateObjectMeta(meta, { ...rules, ...more }).map(fieldErrorText);
const update = (next: ObjectMeta, old: ObjectMeta) => validateObjectMetaUpdate(next, old).map(fieldErrorText);

describe('validateObjectMeta()', () => {
  it.each<[claim: string, change: ObjectMeta, want: (string | RegExp)[]]>([
    ['what is good', { labels: { a: 'b' }, annotations: { 'Ex.io/A': 'any thing' }, ownerReferences: [owner] }, []],
    ['a missing name', { name: '' }, ['metadata.name: Required value: name or generateName is required']],
    ['a bad name', { name: 'Bad' }, [/^metadata\.name: Invalid value: "Bad": a lowercase RFC 1123 subdomain/]],
    ['a bad generateName', { generateName: 'Bad-a-' }, [/^metadata\.generateName: Invalid value: "Bad-a-"/]],
    ['a missing namespace', { namespace: '' }, ['metadata.namespace: Required value']],
    ['a bad namespace', { namespace: 'a.b' }, ['metadata.namespace: Invalid value: "a.b": must not contain dots']],
    [
      'a negative generation',
      { generation: -1 },
      ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'bad labels, sorted by key',
      { labels: { 'b c': 'x', a: '-' } },
      [/^metadata\.labels: Invalid value: "-": a valid label/, /^metadata\.labels: Invalid value: "b c": name part/],
    ],
    [
      'too many annotations',
      { annotations: { a: 'x'.repeat(256 * 1024) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'an empty owner',
      { ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      'two controllers',
      {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: 'p', controller: true },
        ],
      },
      [
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u2","controller":true},{"apiVersion":"v1","kind":"ConfigMap","name":"p","uid":"u2","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for ConfigMap/o and ConfigMap/p',
      ],
    ],
    [
      'an event as owner',
      { ownerReferences: [{ ...owner, kind: 'Event' }] },
      [/\/v1, Kind=Event is disallowed from being an owner$/],
    ],
    [
      'a finalizer of no domain',
      { finalizers: ['ex.io/a', 'plain'] },
      [
        'metadata.finalizers[1]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [
      'finalizers that contradict each other',
      { finalizers: ['orphan', 'foregroundDeletion'] },
      [/finalizer orphan and foregroundDeletion cannot be both set$/],
    ],
    [
      'bad managedFields',
      { managedFields: [{ manager: 'm', operation: 'Guess', fieldsType: 'X' }] },
      [
        'metadata.managedFields[0].operation: Invalid value: "Guess": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "X": must be `FieldsV1`',
      ],
    ],
  ])('%s', (_claim, change, want) => {
    const got = create({ ...good, ...change });
    expect(got).toHaveLength(want.length);
    for (const [index, text] of want.entries()) expect(got[index]).toMatch(text);
  });

  it('forbids a namespace where there are none, and takes another path', () => {
    expect(create(good, { isNamespaced: false, fieldPath: 'spec.template.metadata' })).toEqual([
      'spec.template.metadata.namespace: Forbidden: not allowed on this type',
    ]);
    expect(create({ ...good, finalizers: ['plain'] }, { allowsPlainFinalizers: true })).toEqual([]);
  });
});

describe('validateObjectMetaUpdate()', () => {
  it('lets labels change, and nothing that identifies the object', () => {
    expect(update({ ...good, labels: { a: 'b' } }, good)).toEqual([]);
    expect(update({ ...good, name: 'b', uid: 'u9', deletionGracePeriodSeconds: 0 }, good)).toEqual([
      'metadata.name: Invalid value: "b": field is immutable',
      'metadata.uid: Invalid value: "u9": field is immutable',
      'metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable',
    ]);
    expect(update(good, { ...good, generation: 2 })).toEqual([
      'metadata.generation: Invalid value: 0: must not be decremented',
    ]);
  });

  it('takes finalizers away while deleting, and adds none', () => {
    const dying = { ...good, deletionTimestamp: '2024-01-02T00:00:00Z', finalizers: ['ex.io/a', 'ex.io/b'] };
    expect(update({ ...dying, finalizers: ['ex.io/b'] }, dying)).toEqual([]);
    expect(update({ ...dying, finalizers: ['ex.io/d', 'ex.io/a', 'ex.io/c'] }, dying)).toEqual([
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"ex.io/c", "ex.io/d"}',
    ]);
  });
});

it.each([
  ['configmaps', false, 4, 2],
  ['services', false, 3, 2],
  ['persistentvolumes', false, 3, 1],
  ['csidrivers.storage.k8s.io', false, 3, 2],
  ['resourceslices.resource.k8s.io', false, 3, 2],
  ['customresourcedefinitions.apiextensions.k8s.io', false, 3, 2],
  ['csinodes.storage.k8s.io', false, 3, 1],
  ['volumeattachments.storage.k8s.io', false, 3, 1],
  ['storageclasses.storage.k8s.io', false, 4, 2],
  ['certificatesigningrequests.certificates.k8s.io', false, 4, 2],
  ['widgets.example.com', true, 3, 2],
])('a fault of %s is told as often as kube-apiserver finds it', (name, isCustom, labels, immutables) => {
  const rules = { isNamespaced: true, validateName: () => [], allowsPlainFinalizers: isCustom };
  const next = { ...good, labels: { a: '!' }, deletionGracePeriodSeconds: 5 };
  const faults = validateReplacedMeta(next, good, rules, repeatedChecksOf(name, isCustom));
  const count = (field: string) => faults.filter((fault) => fault.field === field).length;
  expect([count('metadata.labels'), count('metadata.deletionGracePeriodSeconds')]).toEqual([labels, immutables]);
  expect(validateReplacedMeta(good, good, rules, repeatedChecksOf(name, isCustom))).toEqual([]);
});

it('validateFieldManager() wants short printable names', () => {
  const check = (manager: string) => validateFieldManager(manager, 'fieldManager').map(fieldErrorText);
  expect(check('kubectl')).toEqual([]);
  expect(check('a\tb')).toEqual(['fieldManager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)']);
  expect(check('x'.repeat(129))).toEqual(['fieldManager: Too long: may not be more than 128 bytes']);
});

describe('what is wrong with metadata is found in time in proportion to it', () => {
  const text = (size: number) => Array.from({ length: size }, (_, i) => `!k${i}`);
  it.each<[what: string, make: (size: number) => ObjectMeta]>([
    ['bad labels', (size) => ({ ...good, labels: Object.fromEntries(text(size).map((key) => [key, key])) })],
    ['bad annotations', (size) => ({ ...good, annotations: Object.fromEntries(text(size).map((key) => [key, key])) })],
    ['bad finalizers', (size) => ({ ...good, finalizers: text(size) })],
    [
      'controllers',
      (size) => ({ ...good, ownerReferences: text(size).map((uid) => ({ ...owner, uid, controller: true })) }),
    ],
    ['a name', (size) => ({ ...good, name: 'a-'.repeat(size) })],
    ['a generateName', (size) => ({ ...good, generateName: 'a.-'.repeat(size) })],
    ['a manager', (size) => ({ ...good, managedFields: [{ operation: 'Update', manager: '\u0001'.repeat(size) }] })],
  ])('%s', async (_what, make) => {
    const run = (meta: ObjectMeta) => invalid({ kind: 'ConfigMap', group: '' }, 'a', validateObjectMeta(meta, rules));
    await expectLinear('validateObjectMeta()', { make, run, from: 500, limit: 4_000 });
    const { status } = run(make(20_000));
    expect(JSON.stringify(status).length).toBeLessThan(1024 * 1024);
  });
});
