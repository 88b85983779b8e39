import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear, growthOf } from '../../../test/support/growth.ts';
import {
  everyField,
  FieldSelector,
  type FieldSupport,
  fieldLabelNotSupported,
  fieldLabelNotSupportedFor,
  metadataFields,
  parseFieldSelector,
} from './field-selector.ts';

const pods: FieldSupport = {
  fields: ['metadata.name', 'metadata.namespace', 'spec.nodeName', 'status.phase'],
  aliases: { 'spec.host': 'spec.nodeName' },
  refusal: fieldLabelNotSupported,
};
const jobs: FieldSupport = { ...metadataFields, refusal: fieldLabelNotSupportedFor('Job') };
const onlyMetadata = 'is not a known field selector: only "metadata.name", "metadata.namespace"';

describe('parseFieldSelector()', () => {
  it.each<[text: string, support: FieldSupport, message: string]>([
    ['foo', metadataFields, "invalid selector: 'foo'; can't understand 'foo'"],
    ['metadata.name=a,b', metadataFields, "invalid selector: 'metadata.name=a,b'; can't understand 'b'"],
    ['metadata.name=a\\b', metadataFields, 'invalid field selector: invalid escape sequence: \\b'],
    ['metadata.name=a\\', metadataFields, 'invalid field selector: invalid escape sequence: \\'],
    ['metadata.name=a=b', metadataFields, 'invalid field selector: unescaped character in value: 61'],
    ['data.k=v', metadataFields, `"data.k" ${onlyMetadata}`],
    ['=a', metadataFields, `"" ${onlyMetadata}`],
    ['spec.foo=x', pods, 'field label not supported: spec.foo'],
    ['toString=x', pods, 'field label not supported: toString'],
    ['x=y', jobs, 'field label "x" not supported for Job'],
  ])('refuses %j', (text, support, message) => expect(() => parseFieldSelector(text, support)).toThrow(message));

  const fields: Record<string, string> = { 'metadata.name': 'a', 'spec.nodeName': '' };
  it.each<[text: string, matches: boolean]>([
    ['', true],
    [',', true],
    ['metadata.name=a', true],
    ['metadata.name==a,', true],
    ['metadata.name!=a', false],
    ['metadata.name=a,spec.nodeName=', true],
    ['spec.host!=n1', true],
    ['status.phase=Running', false],
    ['metadata.name=a\\,b', false],
  ])('%j matches: %s', (text, matches) => {
    expect(parseFieldSelector(text, pods).matches((field) => fields[field])).toBe(matches);
  });
});

describe('FieldSelector', () => {
  it('has one canonical text for one meaning, and knows what is pinned', () => {
    const selector = parseFieldSelector('spec.host==n,metadata.name!=a', pods);
    expect(selector.canonical).toBe(parseFieldSelector('metadata.name!=a,spec.nodeName=n', pods).canonical);
    expect([...selector.pinned]).toEqual([['spec.nodeName', 'n']]);
    expect(parseFieldSelector('', pods)).toBe(everyField);
  });

  it('comes back from its text, whatever the value', () => {
    const value = fc.string({ unit: fc.constantFrom(...'ab\\,=! \n') });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('=' as const, '!=' as const), value), { maxLength: 3 }),
        (terms) => {
          const requirements = terms.map(([operator, only], index) => ({ field: `f${index}`, operator, value: only }));
          expect(parseFieldSelector(new FieldSelector(requirements).toString()).requirements).toEqual(requirements);
        },
      ),
    );
  });

  it('says that a field has none of many values in the same time, however many', async () => {
    const make = (size: number) => parseFieldSelector(Array.from({ length: size }, (_, i) => `f!=v${i}`).join(','));
    const run = (selector: FieldSelector) => {
      for (let i = 0; i < 5_000; i++) selector.matches(() => 'x');
    };
    const { factor } = await growthOf({ make, run, from: 1_000, limit: 8_000, rounds: 3 });
    expect(factor).toBeLessThan(1.6);
  });

  it('selects nothing if a field must have two values at once', () => {
    const selector = parseFieldSelector('f=a,f=b');
    expect([selector.matches(() => 'a'), selector.matches(() => 'b'), selector.matches(() => '')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(parseFieldSelector('f=a,f=a,g!=b').matches((field) => (field === 'f' ? 'a' : ''))).toBe(true);
  });

  it('is read in time in proportion to its text', async () => {
    const make = (size: number) => `a=${'\\\\\\,'.repeat(size)},${'b!=c,'.repeat(size)}`;
    await expectLinear('parseFieldSelector()', {
      make,
      run: (text) => parseFieldSelector(text),
      from: 1_000,
      limit: 64_000,
    });
  });
});
