import { inspect, isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { deepFreeze } from '../../api/index.ts';
import { isPlainKey } from '../../api/json-keys.testing.ts';
import type { StoredMeta } from '../objects/objects.ts';
import { endOfJson } from './check-json.ts';
import { ODD } from './json-text.ts';
import { forgetRemoved, parseEventLine, parseItems, parseTrusted, settle } from './managed-fields.ts';

const FIELDS = [
  { manager: 'kubelet', fieldsV1: { 'k:{"a":"é"}': { '.': {}, n: [-0.5e-7, 0, 12, true, false, null] } } },
];
const identity = { name: 'a', uid: 'u', resourceVersion: '1' };

type Parsed = { type: string; object: { metadata: StoredMeta & Record<string, unknown>; [key: string]: unknown } };

function parse(text: string): Parsed {
  return parseEventLine(Buffer.from(text), 'utf8') as Parsed;
}

function metadataWith(before: object, after: object): StoredMeta & Record<string, unknown> {
  return parse(JSON.stringify({ type: 'ADDED', object: { metadata: { ...before, managedFields: FIELDS, ...after } } }))
    .object.metadata;
}

/** As JSON.parse made it. */
const plain = JSON.parse(JSON.stringify({ ...identity, managedFields: FIELDS, labels: { a: 'b' } })) as StoredMeta;
const putOff = () => metadataWith(identity, { labels: { a: 'b' } });

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\\', '"managedFields":[{', '}]', '\u2028', '\ud800', '\u0000', '__proto__', 'put off', '7'),
);
const keys = fc.oneof(text, fc.constantFrom('metadata', 'managedFields', 'object', 'type')).filter(isPlainKey);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.dictionary(keys, tie('value'), { maxKeys: 4 }), { maxLength: 3 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
}));
const fields = fc.array(fc.dictionary(keys, value, { minKeys: 1 }), { minLength: 1, maxLength: 3 });
const others = fc.dictionary(keys, value, { maxKeys: 4 });
const event = fc
  .tuple(others, others, fields, others, others)
  .map(([first, before, managedFields, after, last]) =>
    JSON.stringify({ type: 'ADDED', object: { ...first, metadata: { ...before, managedFields, ...after }, ...last } }),
  );

it('an event is read as JSON.parse reads it, in the same order of keys', () => {
  fc.assert(
    fc.property(event, (line) => {
      const expected: unknown = JSON.parse(line);
      const got = parse(line);
      expect(isDeepStrictEqual(got, expected)).toBe(true);
      expect(JSON.stringify(got)).toBe(JSON.stringify(expected));
    }),
    { numRuns: 300 },
  );
});

it('items are read as JSON.parse reads them', () => {
  const item = event.map((line) => JSON.stringify((JSON.parse(line) as Parsed).object));
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          item,
          value.map((one) => JSON.stringify(one)),
        ),
      ),
      fc.nat(),
      fc.boolean(),
      (items, at, isBroken) => {
        const whole = items.join(',');
        const place = at % (whole.length + 1);
        const text = isBroken ? Buffer.from(whole.slice(0, place) + whole.slice(place + 1)).toString() : whole;
        expect(outcomeOf(() => parseItems(Buffer.from(text)))).toEqual(outcomeOf(() => JSON.parse(`[${text}]`)));
      },
    ),
    { numRuns: 300 },
  );
  const two = JSON.stringify({ metadata: { ...identity, managedFields: FIELDS } });
  const decode = vi.spyOn(JSON, 'parse');
  const [first, second] = parseItems(Buffer.from(`${two},${two}`)) as { metadata: StoredMeta }[];
  expect(decode).toHaveBeenCalledTimes(1);
  expect([first?.metadata.managedFields, second?.metadata.managedFields]).toEqual([FIELDS, FIELDS]);
  expect(decode).toHaveBeenCalledTimes(3);
  decode.mockRestore();
});

it('of a broken event it is the same error, at once', () => {
  fc.assert(
    fc.property(
      event,
      fc.nat(),
      fc.constantFrom('', '"', '}', '\\', 'x', ' ', '\u0001', '[', ','),
      (line, at, byte) => {
        const place = at % line.length;
        const broken = Buffer.from(line.slice(0, place) + byte + line.slice(place + 1)).toString();
        expect(outcomeOf(() => parse(broken))).toEqual(outcomeOf(() => JSON.parse(broken)));
      },
    ),
    { numRuns: 500 },
  );
});

/** Lists of anything, as no server writes them, and what looks like the end of one. */
const oddFields = fc.oneof(
  fc.array(value, { minLength: 1, maxLength: 3 }),
  fc.constantFrom<unknown>([{ a: [{}], b: 1 }], [{ a: '}],' }, {}], [{ a: '}]},' }], [{ a: 1 }, 5], [{ '}],': [{}] }]),
);
const oddEvent = fc
  .tuple(others, oddFields, others, others)
  .map(([before, managedFields, after, last]) =>
    JSON.stringify({ type: 'ADDED', object: { metadata: { ...before, managedFields, ...after }, ...last } }),
  );

it('an event that is trusted is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.oneof(event, oddEvent), (line) => {
      const expected: unknown = JSON.parse(line);
      const got = parseTrusted(Buffer.from(line), 'utf8');
      expect(isDeepStrictEqual(got, expected)).toBe(true);
      expect(JSON.stringify(got)).toBe(JSON.stringify(expected));
    }),
    { numRuns: 1000 },
  );
});

it('of an event that is trusted, what is broken in the managed fields is told when they are read, all else at once', () => {
  const managedFields = [{ manager: 'kubelet', fieldsV1: { 'k:{"a":"é"}': { '.': {} } } }];
  const line = JSON.stringify({ type: 'ADDED', object: { metadata: { managedFields, name: 'a' }, spec: {} } });
  const broken = line.replace('"kubelet"', 'kubelet');
  const { object } = parseTrusted(Buffer.from(broken), 'utf8') as Parsed;
  expect(object.metadata.name).toBe('a');
  expect(() => object.metadata.managedFields).toThrow(/^Cannot read the managed fields of an object: .*JSON/);
  expect(() => parseTrusted(Buffer.from(line.replace('"spec"', 'spec')), 'utf8')).toThrow(SyntaxError);
  expect(() => parse(broken)).toThrow(SyntaxError);
});

function outcomeOf(read: () => unknown): string {
  try {
    return JSON.stringify(read());
  } catch (error) {
    return String(error);
  }
}

it('JSON is told from what is none', () => {
  const odd = [
    '{',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '"\\x"',
    '"\\u12g4"',
    '"a',
    '[01]',
    '1.',
    '.5',
    '-',
    '1e',
    'tru',
    '"\u0001"',
    '[1}',
    '',
  ];
  for (const one of odd) expect(endOfJson(Buffer.from(one), 0), one).toBe(ODD);
  fc.assert(
    fc.property(value, (one) => {
      const bytes = Buffer.from(JSON.stringify(one));
      expect([bytes.length, ODD]).toContain(endOfJson(bytes, 0)); // ODD: nested too deeply
    }),
  );
  expect(endOfJson(Buffer.from(JSON.stringify(FIELDS)), 0)).toBe(Buffer.byteLength(JSON.stringify(FIELDS)));
  expect(endOfJson(Buffer.from('['.repeat(101) + ']'.repeat(101)), 0)).toBe(ODD);
});

it('managed fields are decoded when they are looked at, once', () => {
  const metadata = putOff();
  const decode = vi.spyOn(JSON, 'parse');
  expect([metadata.name, metadata.labels, Object.keys(metadata), 'managedFields' in metadata]).toEqual([
    'a',
    { a: 'b' },
    ['name', 'uid', 'resourceVersion', 'managedFields', 'labels'],
    true,
  ]);
  expect(decode).toHaveBeenCalledTimes(0);
  expect(metadata.managedFields).toEqual(FIELDS);
  expect(metadata.managedFields).toBe(metadata.managedFields);
  expect(decode).toHaveBeenCalledTimes(1);
  decode.mockRestore();
});

it.each<[what: string, see: (metadata: StoredMeta) => unknown]>([
  ['copied', (metadata) => ({ ...metadata })],
  ['cloned', (metadata) => structuredClone(metadata)],
  ['listed', (metadata) => Object.entries(metadata)],
  ['walked through', (metadata) => Array.from(keysIn(metadata))],
  ['printed', (metadata) => inspect({ metadata }, { depth: 9 })],
  ['printed not so deep', (metadata) => inspect({ metadata }, { depth: 1 })],
  ['stringified', (metadata) => JSON.stringify(metadata)],
  ['behind a proxy', (metadata) => ({ ...new Proxy(metadata, {}) })],
  ['inherited from', (metadata) => Object.create(metadata).managedFields],
  ['asked for its prototype', (metadata) => Object.getPrototypeOf(metadata) === Object.prototype],
  ['asked for its names', (metadata) => Object.getOwnPropertyNames(metadata).sort()],
  ['deleted from', (metadata) => delete metadata.managedFields && { ...metadata }],
  ['assigned to', (metadata) => Object.assign(metadata, { managedFields: [] })],
  ['changed within', (metadata) => metadata.managedFields?.pop() && { ...metadata }],
])('%s, metadata is as it always was', (_what, see) => {
  expect(see(putOff())).toEqual(see(structuredClone(plain)));
});

function* keysIn(object: object): Generator<string> {
  for (const key in object) yield key;
}

it('metadata is equal to what JSON.parse makes of it', () => {
  expect(putOff()).toStrictEqual(plain);
  expect(isDeepStrictEqual(putOff(), plain)).toBe(true);
  expect(isDeepStrictEqual(putOff(), { ...plain, managedFields: [] })).toBe(false);
});

it('what inherits from metadata, or is a copy of it, is assigned to by itself', () => {
  const metadata = putOff();
  const heir = Object.create(metadata) as StoredMeta;
  heir.managedFields = [];
  expect(metadata.managedFields).toEqual(FIELDS);
  expect(Object.hasOwn(heir, 'managedFields')).toBe(true);
});

it('frozen metadata is read as before, and refuses to be changed', () => {
  const metadata = putOff();
  Object.freeze(metadata);
  expect(Object.isFrozen(metadata)).toBe(true);
  expect(metadata).toStrictEqual(plain);
  expect(() => {
    metadata.managedFields = [];
  }).toThrow("Cannot assign to read only property 'managedFields' of object '#<Object>'");
  settle({ metadata }); // changes nothing
  expect(metadata.managedFields).toEqual(FIELDS);
});

it('what is settled has nothing hidden, and can be frozen all the way down', () => {
  const metadata = putOff();
  settle({ metadata });
  expect(Reflect.ownKeys(metadata)).toEqual(Reflect.ownKeys(plain));
  expect(Object.getOwnPropertyDescriptors(metadata)).toEqual(Object.getOwnPropertyDescriptors(plain));
  expect(Object.isFrozen(deepFreeze(metadata).managedFields?.[0])).toBe(true);
});

it('the text of managed fields that were removed is given up', () => {
  const held = (metadata: object) => inspect(metadata, { showHidden: true, customInspect: false });
  const metadata = putOff();
  forgetRemoved({ metadata });
  expect(held(metadata)).toContain('kubelet');
  delete metadata.managedFields;
  forgetRemoved({ metadata });
  expect(held(metadata)).not.toContain('kubelet');
});
