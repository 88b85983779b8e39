/**
 * Objects that many requests make have one shape, or whatever is done with them goes the slow way: on Node 20 one that begins
 * with all members of another and goes on (`{ ...other, more }`) has a shape of its own each time.
 */
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { expect, it } from 'vitest';
import { decodeBody } from '../codec/index.ts';
import { factsOf } from '../registry/kind-facts.ts';
import { Registry } from '../registry/registry.ts';
import type { RequestContext } from '../request/request-context.ts';
import { ObjectCodec } from '../storage/objects/object-codec.ts';
import { writeOptions } from './input/write-options.ts';
import { withVersion } from './writing/write.ts';

setFlagsFromString('--allow-natives-syntax');
const haveSameShape = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean;

const configMaps = new Registry().find('', 'v1', 'configmaps')!;
const codec = new ObjectCodec(configMaps, factsOf(configMaps));
const metadata = { name: 'a', namespace: 'ns', uid: 'u' };
const stored = codec.decode('ns', 'a', 1, codec.encode({ ...codec.type, metadata, data: { k: 'v' } }));
const body = Buffer.from(JSON.stringify({ metadata, data: { k: 'v' } }));
const decoded = () => decodeBody({ contentType: 'application/json', bytes: body, resource: configMaps }).object;
const asked = (queryText: string) =>
  ({
    queryText,
    query: new URLSearchParams(queryText),
    headers: { 'user-agent': 'kubectl/v1' },
  }) as unknown as RequestContext;

it.each<[what: string, make: () => object]>([
  ['read from a body that does not name its type', decoded],
  ['read from the store', () => stored.parse()],
  ['given the version they were stored at', () => withVersion(JSON.parse(body.toString()), 7).metadata],
  ['that say how a write is wanted', () => writeOptions(asked(''), 'CreateOptions')],
  [
    'that say what the client said of it',
    () => writeOptions(asked('fieldManager=m&fieldValidation=Strict'), 'CreateOptions').given,
  ],
])('objects %s have one shape', (_what, make) => {
  const made = Array.from({ length: 100 }, make); // the first few are not yet made from what V8 has learnt
  expect(haveSameShape(made.at(-2)!, made.at(-1)!)).toBe(true);
});
