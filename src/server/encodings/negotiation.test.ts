import { describe, expect, it } from 'vitest';
import { type Format, type MediaType, negotiate, plainFormat, statusMediaType } from './negotiation.ts';

const builtIn = { isCustom: false, verbs: ['create', 'get'] };
const custom = { isCustom: true, verbs: ['create', 'get'] };
const review = { isCustom: false, verbs: ['create'] };
const table: Format = { mediaType: 'json', shape: 'Table', version: 'v1' };
const yaml: Format = { ...plainFormat, mediaType: 'yaml' };
const protobuf: Format = { ...plainFormat, mediaType: 'protobuf' };
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const asTable = ';as=Table;g=meta.k8s.io;v=v1';
const asPartial = ';as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

const of = (accept: string | undefined, resource = builtIn, isWatch = false) =>
  negotiate({ ...(accept !== undefined && { accept }) }, resource, isWatch);

describe('negotiate()', () => {
  it('has no Table of what cannot be read', () => {
    expect(of(`application/json${asTable}, application/json`, review)).toEqual(plainFormat);
    expect(() => of(`application/json${asTable}`, review)).toThrow(
      expect.objectContaining({
        code: 406,
        message: expect.stringMatching('^only the following media types are accepted'),
      }),
    );
  });

  it.each<[accept: string | undefined, want: Format]>([
    [undefined, plainFormat],
    ['', plainFormat],
    ['*/*', plainFormat],
    ['application/json', plainFormat],
    ['Application/JSON', plainFormat],
    ['application/json;pretty=1', plainFormat],
    ['text/html, */*;q=0.1', plainFormat],
    ['application/yaml', yaml],
    ['application/yaml;q=0.5, application/json', plainFormat],
    ['application/json;q=0.5, application/yaml;q=0.9', yaml],
    ['application/cbor, application/yaml', yaml],
    ['*/*, application/yaml', yaml],
    [PROTOBUF, protobuf],
    [`${PROTOBUF};stream=watch`, protobuf],
    [`${PROTOBUF}, application/json`, protobuf],
    [`application/json, ${PROTOBUF}`, plainFormat],
    [`${PROTOBUF};q=0.8,application/json;q=0.9`, plainFormat],
    [`application/json${asTable}`, table],
    [`application/json${asTable},application/json`, table],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json', { ...table, version: 'v1beta1' }],
    ['application/json;as=Table;v=v2;g=meta.k8s.io, application/json', plainFormat],
    ['application/json;as=Table;v=v1;g=other, application/json', plainFormat],
    ['application/json;as=Chair;v=v1;g=meta.k8s.io, application/json', plainFormat],
    [
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      { ...table, shape: 'PartialObjectMetadataList' },
    ],
    [`${PROTOBUF}${asPartial}`, { ...protobuf, shape: 'PartialObjectMetadata' }],
    [`${PROTOBUF}${asTable},application/json${asTable}`, table],
  ])('of "%s" makes what can be served', (accept, want) => expect(of(accept)).toEqual(want));

  it.each<[accept: string, want: Format]>([
    [`${PROTOBUF},application/json`, plainFormat],
    [`${PROTOBUF},application/yaml`, yaml],
    [`${PROTOBUF}${asPartial},application/json`, { ...protobuf, shape: 'PartialObjectMetadata' }],
    ['application/*', plainFormat],
  ])('of "%s" makes what a custom object can be served as', (accept, want) => expect(of(accept, custom)).toEqual(want));

  it('takes protobuf for a watch', () => {
    expect(of(`${PROTOBUF},application/json`, builtIn, true)).toEqual(protobuf);
    expect(of(`${PROTOBUF},application/json`, custom, true)).toEqual(plainFormat);
  });

  const only = 'only the following media types are accepted: ';
  const routes = '406: Not Acceptable\n\nAvailable representations: ';
  const whole = `application/json, application/yaml, ${PROTOBUF}`;
  const streamed = `application/json;stream=watch, ${PROTOBUF};stream=watch`;
  it.each<[accept: string, isWatch: boolean, resource: typeof builtIn, message: string]>([
    [PROTOBUF, false, custom, `${only}${whole}`],
    [`${PROTOBUF}${asTable}`, false, builtIn, `${only}${whole}`],
    // The first that fits an answer is taken for a watch too, and found out too late.
    ['application/yaml', true, builtIn, `${only}${streamed}`],
    ['application/yaml, application/json', true, builtIn, `${only}${streamed}`],
    ['application/json;as=Chair;v=v1;g=meta.k8s.io', false, builtIn, `${only}${whole}`],
    ['text/html', false, builtIn, `${routes}${whole}`],
    ['text/html', false, custom, `${only}${whole}`],
    ['application/*', false, builtIn, `${routes}${whole}`],
    ['application/cbor', false, builtIn, `${routes}${whole}`],
    ['text/html', true, builtIn, `${routes}${whole}, ${streamed}`],
  ])('refuses "%s" (watch: %s, %j)', (accept, isWatch, resource, message) => {
    expect(() => of(accept, resource, isWatch)).toThrow(expect.objectContaining({ code: 406, message }));
  });
});

describe('statusMediaType()', () => {
  it.each<[accept: string | undefined, want: MediaType]>([
    [undefined, 'json'],
    ['*/*', 'json'],
    ['text/html', 'json'],
    ['application/yaml', 'yaml'],
    [`${PROTOBUF},application/json`, 'protobuf'],
    [`${PROTOBUF};stream=watch`, 'protobuf'],
    [`application/json;q=0.5,${PROTOBUF}`, 'protobuf'],
    // A Status is never a table, nor cut down to its metadata.
    [`${PROTOBUF}${asPartial},application/json`, 'json'],
    [`application/json${asTable},${PROTOBUF}`, 'protobuf'],
    [`${PROTOBUF}${asPartial}`, 'json'],
  ])('of "%s" is %s', (accept, want) => {
    expect(statusMediaType({ ...(accept !== undefined && { accept }) })).toBe(want);
  });
});
