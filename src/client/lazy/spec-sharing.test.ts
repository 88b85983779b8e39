import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPlainKey } from '../../api/json-keys.testing.ts';
import type { AnyObject } from '../objects/objects.ts';
import { sharingSpecs } from './spec-sharing.ts';

type Parsed = { type: string; object: AnyObject & { spec: Record<string, unknown>; status?: unknown } };

const FIELDS = [{ manager: 'kubelet', fieldsV1: { 'k:{"a":"é"}': { '.': {} } } }];

/** As an informer uses it: what came last of each object is known. */
class Copy {
  readonly objects = new Map<string, AnyObject>();
  readonly decode: ReturnType<typeof sharingSpecs> = sharingSpecs((key) => this.objects.get(key));

  take(line: string): Parsed {
    const parsed = this.decode(Buffer.from(line), 'utf8') as Parsed;
    const metadata = (parsed as Partial<Parsed> | null)?.object?.metadata;
    if (metadata?.name) this.objects.set(metadata.name, parsed.object);
    return parsed;
  }
}

function event(version: number, spec: unknown, { name = 'a', more = {}, fields = FIELDS as unknown } = {}): string {
  const metadata = { name, resourceVersion: String(version), managedFields: fields };
  return JSON.stringify({ type: 'MODIFIED', object: { metadata, spec, ...more } });
}

it('a spec that comes again is the very same, frozen, from the first that was decoded for it', () => {
  const copy = new Copy();
  const first = copy.take(event(1, { a: [{ b: 'é' }] })).object;
  const second = copy.take(event(2, { a: [{ b: 'é' }] }, { more: { status: { n: 1 } } })).object;
  const third = copy.take(event(3, { a: [{ b: 'é' }] }, { more: { status: { n: 2 } } })).object;
  const fourth = copy.take(event(4, { a: [{ b: 'e' }] }, { more: { status: { n: 2 } } })).object;
  expect(third.spec).toBe(second.spec);
  expect(third.status).toEqual({ n: 2 });
  expect(fourth.spec).toEqual({ a: [{ b: 'e' }] });
  expect(third.metadata.managedFields).toEqual(FIELDS);
  // Somebody may have changed the first already: nobody shares that.
  expect(Object.isFrozen(first.spec)).toBe(false);
  expect(second.spec).not.toBe(first.spec);
  for (const { spec } of [second, fourth])
    expect([spec, spec.a, (spec.a as unknown[])[0]].every(Object.isFrozen)).toBe(true);
  expect(Object.isFrozen(third.metadata)).toBe(false);
});

it('what one reader does to a version is not seen in the next', () => {
  const copy = new Copy();
  for (let version = 1; version < 5; version++) {
    const { object } = copy.take(event(version, { replicas: 1, list: [{}] }));
    expect(JSON.stringify(object.spec)).toBe('{"replicas":1,"list":[{}]}');
    expect(JSON.stringify(object.metadata.managedFields)).toBe(JSON.stringify(FIELDS));
    try {
      object.spec.replicas = 2;
    } catch {
      // it is shared
    }
    (object.metadata.managedFields as unknown[]).push({});
  }
});

it('where the spec is another one each time, or there is none, it is not looked for in every event', () => {
  const copy = new Copy();
  let tried = 0;
  const known = copy.objects.get.bind(copy.objects);
  copy.objects.get = (key) => {
    tried++;
    return known(key);
  };
  for (let version = 0; version < 2000; version++) copy.take(event(version, { version }));
  expect(tried).toBeLessThan(200);
});

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\\', '"managedFields":[{', ',"spec":{', '},"status":{', '}]', '\ud800', '__proto__', '7'),
);
const keys = fc
  .oneof(text, fc.constantFrom('metadata', 'managedFields', 'object', 'type', 'spec', 'status'))
  .filter(isPlainKey);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.double({ noNaN: true }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
}));
const others = fc.dictionary(keys, value, { maxKeys: 3 });
/** Few, so that they come again. */
const spec = fc.oneof(
  others,
  fc.constantFrom<unknown>({ a: 1 }, { a: 1, status: {} }, { template: { spec: { b: [] } } }, {}, [], 'spec', null),
);
const fields = fc.oneof(
  fc.constantFrom<unknown>(FIELDS, [{ a: [{}] }, {}], [{ a: '}]' }], [{ a: 1 }, 5], [{}]),
  fc.array(others, { minLength: 1, maxLength: 3 }),
);
const change = fc.tuple(others, others, spec, others, fields).map(([first, before, spec, last, managedFields]) =>
  JSON.stringify({
    type: 'MODIFIED',
    object: { ...first, metadata: { ...before, name: 'a', managedFields }, spec, ...last },
  }),
);

it('events are read as JSON.parse reads them, one after the other, in the same order of keys', () => {
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 2, maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 4 }),
      (lines, again) => {
        const copy = new Copy();
        for (const line of [...lines, ...again.map((at) => lines[at % lines.length]!)]) {
          const expected: unknown = JSON.parse(line);
          const got = copy.take(line);
          expect(isDeepStrictEqual(got, expected)).toBe(true);
          expect(JSON.stringify(got)).toBe(JSON.stringify(expected));
        }
      },
    ),
    { numRuns: 300 },
  );
});

it('of a broken event it is the same error, whatever came before', () => {
  const broken = fc.tuple(
    change,
    fc.nat(),
    fc.constantFrom('', '"', '}', '\\', 'x', ' ', '\u0001', '[', ',', ',"spec":{', '}]', '{}', 'é'),
    fc.nat(2),
  );
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), broken, (lines, [, at, bytes, cut]) => {
      const copy = new Copy();
      for (const line of lines) copy.take(line);
      const line = lines[lines.length - 1]!;
      const place = at % line.length;
      const odd = Buffer.from(line.slice(0, place) + bytes + line.slice(place + cut)).toString();
      expect(outcomeOf(() => copy.take(odd))).toEqual(outcomeOf(() => JSON.parse(odd)));
    }),
    { numRuns: 1000 },
  );
});

function outcomeOf(read: () => unknown): string {
  try {
    return JSON.stringify(read());
  } catch (error) {
    return String(error);
  }
}
