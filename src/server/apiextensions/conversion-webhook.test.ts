import { afterEach, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { type Hook, startHook } from '../outbound/https-hook.testing.ts';
import { OutboundConnections } from '../outbound/outbound-connections.ts';
import { serviceResolver } from '../outbound/service-resolver.ts';
import { ConversionWebhook } from './conversion-webhook.ts';

const signal = new AbortController().signal;
const [V1, V2] = ['g.example.com/v1', 'g.example.com/v2'];
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

type Request = { uid: string; desiredAPIVersion: string; objects: KubeObject[] };
type Change = (objects: KubeObject[]) => unknown[];

const widget = (name: string, apiVersion = V1!, size = 0): KubeObject => ({
  apiVersion,
  kind: 'Widget',
  metadata: { name, uid: `uid-${name}`, labels: { a: 'b' }, resourceVersion: '7' },
  spec: { x: 'x'.repeat(size) },
});

/** A webhook that changes the version, and what else is wanted. */
async function converting(change: Change = (objects) => objects): Promise<{ hook: Hook; webhook: ConversionWebhook }> {
  const hook = await startHook(({ body }) => {
    const { uid, desiredAPIVersion, objects } = (body as unknown as { request: Request }).request;
    const convertedObjects = change(objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion })));
    const response = { uid, result: { status: 'Success' }, convertedObjects };
    return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response } as unknown as JsonObject;
  });
  const connections = new OutboundConnections(
    serviceResolver({ service: async () => undefined, endpointSlices: async () => [] }),
  );
  open.push(
    () => hook.close(),
    () => connections.close(),
  );
  const { url, caBundle } = hook;
  return {
    hook,
    webhook: new ConversionWebhook(connections, { clientConfig: { url, caBundle }, conversionReviewVersions: ['v1'] }),
  };
}
const sentTo = ({ requests }: Hook) =>
  requests.map(({ body }) => (body as unknown as { request: Request }).request.objects.map(({ metadata }) => metadata));

it('objects are converted together, in their order; what has the version stays, and is not sent', async () => {
  const { hook, webhook } = await converting((objects) =>
    objects.map((one) => ({ ...one, metadata: { ...one.metadata, labels: { c: 'd' }, finalizers: ['x/y'] } })),
  );
  const converted = await webhook.convert([widget('a'), widget('b', V2), widget('c')], V2!, signal);
  expect(converted.map(({ apiVersion, metadata }) => [apiVersion, metadata])).toEqual([
    [V2, { name: 'a', uid: 'uid-a', labels: { c: 'd' }, resourceVersion: '7' }],
    [V2, { name: 'b', uid: 'uid-b', labels: { a: 'b' }, resourceVersion: '7' }],
    [V2, { name: 'c', uid: 'uid-c', labels: { c: 'd' }, resourceVersion: '7' }],
  ]);
  expect(sentTo(hook)).toEqual([['a', 'c'].map((name) => ({ name, uid: `uid-${name}`, labels: { a: 'b' } }))]);
});

it('what is too much for one call goes in several', async () => {
  const { hook, webhook } = await converting();
  const many = Array.from({ length: 5 }, (_, index) => widget(`a${index}`, V1, 900_000));
  expect((await webhook.convert(many, V2!, signal)).map(({ metadata }) => metadata.name)).toEqual(
    many.map(({ metadata }) => metadata.name),
  );
  expect(sentTo(hook).map(({ length }) => length)).toEqual([2, 2, 1]);
});

const first =
  (change: (object: KubeObject) => unknown): Change =>
  ([one, ...others]) => [change(one!), ...others];

const withMetadata = (more: object) => first((one) => ({ ...one, metadata: { ...one.metadata, ...more } }));

it.each<[what: string, change: Change, why: string]>([
  [
    'no object',
    first(() => 'x'),
    `returned invalid object at index 0: invalid groupVersion (expected ${V2}, received )`,
  ],
  [
    'another kind',
    first((one) => ({ ...one, kind: 'Gadget' })),
    'returned invalid object at index 0: invalid kind (expected Widget, received Gadget)',
  ],
  [
    'another namespace',
    withMetadata({ namespace: 'n' }),
    'returned invalid object: must have the same namespace:  != n',
  ],
  [
    'labels that are none',
    withMetadata({ labels: ['a'] }),
    'returned invalid metadata: invalid metadata.labels of type []interface {} in converted object',
  ],
  [
    'a label that is no text',
    withMetadata({ labels: { a: 1 } }),
    'returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
  ],
  [
    'an annotation of no name',
    withMetadata({ annotations: { 'a b': '' } }),
    'returned invalid metadata: metadata.annotation: Invalid value: "a b": name part must consist',
  ],
])('%s instead of what was sent is told, in a list as alone', async (_what, change, why) => {
  const { webhook } = await converting(change);
  const want = {
    code: 500,
    message: expect.stringContaining(`conversion webhook for ${V1}, Kind=Widget ${why}`),
  };
  await expect(webhook.convert([widget('a')], V2!, signal)).rejects.toMatchObject(want);
  await expect(webhook.convert([widget('a'), widget('b')], V2!, signal)).rejects.toMatchObject(want);
});

it('an answer without objects is told, and how many were sent', async () => {
  const { webhook } = await converting(() => []);
  const lead = `conversion webhook for ${V1}, Kind=Widget returned 0 objects, expected `;
  await expect(webhook.convert([widget('a')], V2!, signal)).rejects.toMatchObject({ code: 500, message: `${lead}1` });
  await expect(webhook.convert([widget('a'), widget('b')], V2!, signal)).rejects.toThrow(`${lead}2`);
});

it('labels that stay as they were are not judged', async () => {
  const { webhook } = await converting();
  const odd = { ...widget('a'), metadata: { name: 'a', labels: { 'not good!': '' } } };
  await expect(webhook.convert([odd], V2!, signal)).resolves.toMatchObject([{ metadata: odd.metadata }]);
});
