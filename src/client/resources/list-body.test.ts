import fc from 'fast-check';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { hasPlainKeys, isPlainKey } from '../../api/json-keys.testing.ts';
import { ListBody } from './list-body.ts';

function decode(text: string, pieceBytes: number): unknown {
  const bytes = Buffer.from(text);
  const body = new ListBody();
  for (let at = 0; at < bytes.length; at += pieceBytes) body.push(bytes.subarray(at, at + pieceBytes));
  return body.finish();
}

const PAD = 'é"\\{[}],'.repeat(40);
const meta = fc.record({
  name: fc.string(),
  labels: fc.dictionary(fc.string().filter(isPlainKey), fc.string(), { maxKeys: 2 }),
});
/** Items that hold what items look like. */
const template = fc.record({ metadata: meta, note: fc.constantFrom(PAD, '},{"metadata":{', ']}') });
const content = fc.record({
  pad: fc.constant(PAD),
  templates: fc.array(template, { maxLength: 3 }),
  more: fc.jsonValue().filter(hasPlainKeys),
});
const item = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(meta, content).map(([metadata, spec]) => ({ metadata, spec }) as object) },
  fc.tuple(meta, content).map(([metadata, spec]) => ({ kind: 'A', apiVersion: 'v1', metadata, spec })),
  fc.tuple(meta, content).map(([metadata, data]) => ({ data, metadata })),
);
const list = fc
  .tuple(fc.array(item, { minLength: 1, maxLength: 12 }), fc.boolean(), fc.nat(2))
  .map(([some, isSorted, n]) => {
    // Long enough to be decoded in pieces, without making thousands by hand.
    const items = Array.from({ length: [1, 30, 300][n]! }, () => some).flat();
    const metadata = { resourceVersion: '7', continue: 'x' };
    if (isSorted) return { apiVersion: 'v1', items, kind: 'AList', metadata };
    return { kind: 'AList', apiVersion: 'v1', metadata, items };
  });

it('however it is cut, it is what JSON.parse makes of the whole', () => {
  fc.assert(
    fc.property(list, fc.constantFrom(10_007, 65_536, 300_001), (content, pieceBytes) => {
      const text = JSON.stringify(content);
      expect(decode(text, pieceBytes)).toEqual(JSON.parse(text));
    }),
    { numRuns: 60 },
  );
});

const many = `"items":[${Array.from({ length: 5000 }, (_, i) => `{"metadata":{"name":"a-${i}","note":"${'x'.repeat(60)}"}}`).join(',')}]`;

it.each([
  ['no items', '{"metadata":{},"items":[]}'],
  ['items that are null', '{"metadata":{},"items":null}'],
  ['no list', `{"kind":"Status","message":"${'m'.repeat(300_000)}"}`],
  ['spaces', JSON.stringify(JSON.parse(`{"metadata":{},${many}}`), undefined, 2)],
  ['items of something in it', `{"metadata":{${many}},"items":[{"metadata":{"name":"b"}}]}`],
  ['items that are no objects', `{"metadata":{},"items":[${'1,'.repeat(200_000)}2]}`],
  ['a new line at the end', `{"metadata":{"resourceVersion":"1"},${many}}\n`],
])('%s is what it is', (_what, text) => expect(decode(text, 20_000)).toEqual(JSON.parse(text)));

it.each([
  ['cut short', `{"metadata":{},${many.slice(0, -2)}`],
  ['cut within an item', `{"metadata":{},${many.slice(0, -40)}`],
  ['broken in the middle', `{"metadata":{},${many.replace('"a-2500"', '"a-2500')}}`],
  ['broken behind the items', `{"metadata":{},${many},"kind":}`],
  ['with too much at the end', `{"metadata":{},${many}}}`],
  ['with two commas', `{"metadata":{},${many.replace('},{"metadata":{"name":"a-7"', '},,{"metadata":{"name":"a-7"')}}`],
])('a list %s is a syntax error', (_what, text) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(() => decode(text, 20_000)).toThrow(SyntaxError);
});

it('an item that holds what looks like many takes time in proportion to its length', async () => {
  await expectLinear('one item', {
    make: (size) => `{"metadata":{},"items":[{"metadata":{},"spec":[${'{},{"metadata":{}},'.repeat(size)}0]}]}`,
    run: (text) => decode(text, 16_384),
    from: 20_000,
    limit: 400_000,
    rounds: 2,
  });
});
