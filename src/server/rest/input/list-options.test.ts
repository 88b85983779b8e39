import { describe, expect, it } from 'vitest';
import { Registry } from '../../registry/registry.ts';
import { isAnyVersion, listOptions, versionFault, watchOptions } from './list-options.ts';

const registry = new Registry();
const configMaps = registry.find('', 'v1', 'configmaps')!;
const pods = registry.find('', 'v1', 'pods')!;
const jobs = registry.find('batch', 'v1', 'jobs')!;

const list = (query: string, resource = configMaps) => listOptions(new URLSearchParams(query), resource, 'ns');
const watch = (query: string, name = '') => watchOptions(new URLSearchParams(query), configMaps, 'ns', name);
const invalid = 'ListOptions.meta.k8s.io "" is invalid: ';

describe('listOptions()', () => {
  it('reads what is asked for', () => {
    const { selection, ...rest } = list('limit=5&continue=abc&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx');
    expect(rest).toEqual({ resourceVersion: '', match: '', limit: 5, continueToken: 'abc' });
    expect([selection.namespace, selection.name, selection.labels.canonical]).toEqual(['ns', 'x', 'a=b']);
    expect(list('resourceVersion=7&resourceVersionMatch=Exact')).toMatchObject({
      resourceVersion: '7',
      match: 'Exact',
    });
  });

  describe('of selectors that were asked for before', () => {
    const selection = (query: string, resource = pods) => list(query, resource).selection;

    it('reads each once, of a few and of short ones', () => {
      const first = selection('labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dx');
      expect(selection('fieldSelector=spec.nodeName%3Dx&labelSelector=a%3Db')).toBe(first);
      const long = `labelSelector=a+in+(${'b,'.repeat(300)}b)`;
      expect(selection(long)).not.toBe(selection(long));
      for (let i = 0; i < 256; i++) selection(`labelSelector=a%3D${i}`);
      expect(selection('labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dx')).not.toBe(first);
    });

    it('takes no text for the other, and no kind for another', () => {
      const { labels, fields } = selection('labelSelector=aspec.nodeName%3Dx');
      expect([labels.canonical, fields.canonical]).toEqual(['aspec.nodeName=x', '']);
      const other = selection('labelSelector=a&fieldSelector=spec.nodeName%3Dx');
      expect([other.labels.canonical, other.fields.canonical]).toEqual(['a', 'spec.nodeName=x']);
      expect(() => selection('fieldSelector=spec.nodeName%3Dx', configMaps)).toThrow('not a known field selector');
      const inNamespace = (namespace: string) =>
        listOptions(new URLSearchParams(''), pods, namespace).selection.namespace;
      expect([inNamespace('a'), inNamespace('b'), inNamespace('')]).toEqual(['a', 'b', '']);
    });
  });

  it.each([
    ['', 0],
    ['limit=', 0],
    ['limit=0', 0],
    ['limit=-3', 0],
    ['limit=500', 500],
  ])('with "%s" has limit %i', (query, limit) => expect(list(query).limit).toBe(limit));

  it.each<[query: string, code: number, message: string]>([
    [
      'resourceVersionMatch=Exact',
      422,
      `${invalid}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
    ],
    [
      'resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=x',
      422,
      `${invalid}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided`,
    ],
    [
      'resourceVersionMatch=x&resourceVersion=1',
      422,
      `${invalid}resourceVersionMatch: Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""`,
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=0',
      422,
      `${invalid}resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ],
    ['sendInitialEvents=false', 422, `${invalid}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`],
    [
      'resourceVersion=abc',
      400,
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      'resourceVersion=-1',
      400,
      'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    ['limit=abc', 400, 'strconv.ParseInt: parsing "abc": invalid syntax'],
    ['fieldSelector=foo', 400, "invalid selector: 'foo'; can't understand 'foo'"],
    [
      'fieldSelector=data.k%3D1',
      400,
      '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
  ])('refuses "%s"', (query, code, message) => {
    expect(() => list(query)).toThrow(expect.objectContaining({ code, message }));
  });

  it('refuses an unknown field in the words of the kind', () => {
    expect(() => list('fieldSelector=spec.foo%3D1', pods)).toThrow('field label not supported: spec.foo');
    expect(() => list('fieldSelector=x%3D1', jobs)).toThrow('field label "x" not supported for Job');
  });
});

describe('watchOptions()', () => {
  it('reads what is asked for', () => {
    expect(watch('')).toMatchObject({
      resourceVersion: '',
      sendInitialEvents: undefined,
      allowsBookmarks: false,
      timeoutSeconds: 0,
    });
    const query =
      'sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=9&resourceVersion=4';
    expect(watch(query)).toMatchObject({
      resourceVersion: '4',
      sendInitialEvents: true,
      allowsBookmarks: true,
      timeoutSeconds: 9,
    });
    expect(watch('sendInitialEvents=0&resourceVersionMatch=NotOlderThan').sendInitialEvents).toBe(false);
    expect(watch('limit=5&continue=x')).not.toHaveProperty('limit');
  });

  it('takes the name of a path as a selector, beside the one that is given', () => {
    expect(watch('', 'x').selection.name).toBe('x');
    const both = watch('fieldSelector=metadata.name%3Dy', 'x').selection;
    expect(both.fields.requirements).toHaveLength(2);
  });

  const forbidden = `${invalid}resourceVersionMatch: Forbidden: `;
  it.each<[query: string, code: number, message: string]>([
    [
      'resourceVersionMatch=NotOlderThan',
      422,
      `${forbidden}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
    ],
    [
      'sendInitialEvents=true',
      422,
      `${forbidden}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
    ],
    ['resourceVersion=abc', 500, 'strconv.ParseUint: parsing "abc": invalid syntax'],
    ['timeoutSeconds=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  ])('refuses "%s"', (query, code, message) => {
    expect(() => watch(query)).toThrow(expect.objectContaining({ code, message }));
  });

  it('refuses another match, and says which there is', () => {
    const refusal = /resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"/;
    expect(() => watch('sendInitialEvents=true&resourceVersionMatch=Exact')).toThrow(refusal);
  });
});

it.each<[text: string, want: string | undefined]>([
  ['', undefined],
  ['0', undefined],
  ['00', undefined],
  ['1', undefined],
  ['0001', undefined],
  ['18446744073709551615', undefined],
  ['00000000000018446744073709551615', undefined],
  ['18446744073709551616', 'value out of range'],
  ['123456789012345678901', 'value out of range'],
  ['-1', 'invalid syntax'],
  ['+1', 'invalid syntax'],
  ['1.5', 'invalid syntax'],
  [' 1', 'invalid syntax'],
  ['0x1', 'invalid syntax'],
  ['1_000', 'invalid syntax'],
])('versionFault("%s") is %s', (text, want) => {
  expect(versionFault(text)).toBe(want && `strconv.ParseUint: parsing "${text}": ${want}`);
});

it.each<[text: string, want: boolean]>([
  ['', true],
  ['0', true],
  ['000', true],
  ['1', false],
  ['01', false],
])('isAnyVersion("%s") is %s', (text, want) => expect(isAnyVersion(text)).toBe(want));
