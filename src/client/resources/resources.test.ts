import { expect, it } from 'vitest';
import { parseFieldSelector, parseLabelSelector } from '../../api/index.ts';
import { ApiError } from '../errors.ts';
import { defineResource } from '../objects/define-resource.ts';
import { deployments } from '../objects/generated/apps-v1.ts';
import { namespaces, pods } from '../objects/generated/core-v1.ts';
import { listPages } from './list-pages.ts';
import { deleteBody, type ListOptions } from './options.ts';
import { collectionPath, objectPath } from './resource-path.ts';
import { type FieldSelection, fieldSelectorText, type LabelSelection, labelSelectorText } from './selectors.ts';

it('paths follow group, scope and name', () => {
  expect(collectionPath(pods)).toBe('/api/v1/pods');
  expect(objectPath(pods, 'a', 'b', 'status')).toBe('/api/v1/namespaces/a/pods/b/status');
  expect(objectPath(namespaces, 'a', 'b')).toBe('/api/v1/namespaces/b');
  expect(collectionPath(deployments, 'a')).toBe('/apis/apps/v1/namespaces/a/deployments');
  expect(objectPath(pods, 'a', 'system:x/y')).toBe('/api/v1/namespaces/a/pods/system%3Ax%2Fy');
  expect(objectPath(pods, 'a', '..')).toBe('/api/v1/namespaces/a/pods/%2E%2E');
});

it('what would mean the whole collection by accident is refused', () => {
  expect(() => objectPath(pods, 'a', '')).toThrow('Cannot name a Pod: the name is empty');
  expect(() => collectionPath(pods, '')).toThrow('the namespace is empty');
  expect(() => defineResource({ group: '', version: 'v1', plural: '', kind: 'X', isNamespaced: true })).toThrow(
    'must be set',
  );
});

it.each<[selection: LabelSelection | undefined, want: string | undefined]>([
  [undefined, undefined],
  ['', undefined],
  ['a=b,c', 'a=b,c'],
  [parseLabelSelector('a in (b)'), 'a in (b)'],
  [{ b: '2', a: '1' }, 'a=1,b=2'],
  [{ matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'Exists' }] }, 'a=1,b'],
])('label selection %# is text', (selection, want) => expect(labelSelectorText(selection)).toBe(want));

it.each<[selection: FieldSelection | undefined, want: string | undefined]>([
  [undefined, undefined],
  ['metadata.name=a', 'metadata.name=a'],
  [parseFieldSelector('metadata.name=a'), 'metadata.name=a'],
  [{ 'metadata.name': 'a', x: 'b,c=d' }, 'metadata.name=a,x=b\\,c\\=d'],
])('field selection %# is text', (selection, want) => expect(fieldSelectorText(selection)).toBe(want));

it('options of a delete are all in the body', () => {
  expect(deleteBody({ dryRun: true, preconditions: { uid: 'u' }, gracePeriodSeconds: 0 })).toEqual({
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    dryRun: ['All'],
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u' },
  });
});

const page = (items: number[], token = '', resourceVersion = '7') => ({
  apiVersion: 'v1',
  kind: 'List',
  metadata: { resourceVersion, continue: token },
  items,
});
const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 410, reason: 'Expired' } as const;

it('pages are fetched as they are asked for, the version only with the first', async () => {
  const asked: ListOptions[] = [];
  const answers = [page([1, 2], 'x'), page([], 'y'), page([3])];
  const list = async (options: ListOptions) => {
    asked.push(options);
    return answers[asked.length - 1]!;
  };
  const got: number[] = [];
  for await (const { items } of listPages(list, { limit: 2, resourceVersion: '5', labelSelector: 'a' }))
    got.push(...items);
  expect(got).toEqual([1, 2, 3]);
  expect(asked).toEqual([
    { limit: 2, resourceVersion: '5', labelSelector: 'a' },
    { limit: 2, labelSelector: 'a', continue: 'x' },
    { limit: 2, labelSelector: 'a', continue: 'y' },
  ]);
});

it('a snapshot that is gone goes on with the token of the error, and says so', async () => {
  const list = async ({ continue: token }: ListOptions) => {
    if (token === 'x') throw new ApiError({ ...status, metadata: { continue: 'rest' } }, 'GET');
    return token === undefined ? page([1], 'x') : page([2], '', '9');
  };
  const got: unknown[] = [];
  for await (const { items, isConsistent } of listPages(list, {})) got.push([items, isConsistent]);
  expect(got).toEqual([
    [[1], true],
    [[2], false],
  ]);
  const strict = listPages(list, { onExpired: 'throw' });
  await strict.next();
  await expect(strict.next()).rejects.toMatchObject({ reason: 'Expired' });
});
