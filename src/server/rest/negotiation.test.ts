import { describe, expect, it } from 'vitest';
import { type Format, negotiate, plainFormat } from './negotiation.ts';

const table: Format = { mediaType: 'json', shape: 'Table', version: 'v1' };
const yaml: Format = { ...plainFormat, mediaType: 'yaml' };
const asTable = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const protobuf = 'application/vnd.kubernetes.protobuf';

describe('negotiate()', () => {
  it.each<[accept: string | undefined, want: Format]>([
    [undefined, plainFormat],
    ['', plainFormat],
    ['*/*', plainFormat],
    ['application/json', plainFormat],
    ['Application/JSON', plainFormat],
    ['application/json;pretty=1', plainFormat],
    ['text/html, */*;q=0.1', plainFormat],
    [`${protobuf}, application/json`, plainFormat],
    [`${protobuf},application/json;q=0.9`, plainFormat],
    ['application/yaml', yaml],
    ['application/yaml;q=0.5, application/json', plainFormat],
    ['application/json;q=0.5, application/yaml;q=0.9', yaml],
    ['application/cbor, application/yaml', yaml],
    [asTable, table],
    [`${asTable},application/json`, table],
    ['application/json;as=Table;v=v1;g=meta.k8s.io, application/json', table],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json', { ...table, version: 'v1beta1' }],
    ['application/json;as=Table;v=v2;g=meta.k8s.io, application/json', plainFormat],
    ['application/json;as=Table;v=v1;g=other, application/json', plainFormat],
    ['application/json;as=Chair;v=v1;g=meta.k8s.io, application/json', plainFormat],
    [
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      { ...table, shape: 'PartialObjectMetadataList' },
    ],
    [`${protobuf};as=Table;g=meta.k8s.io;v=v1,${asTable}`, table],
  ])('of "%s" makes what can be served', (accept, want) => {
    expect(negotiate({ ...(accept !== undefined && { accept }) }, false)).toEqual(want);
  });

  it('passes YAML over for a watch', () => {
    expect(negotiate({ accept: 'application/yaml, application/json' }, true)).toEqual(plainFormat);
  });

  const only = 'only the following media types are accepted: ';
  const routes = '406: Not Acceptable\n\nAvailable representations: ';
  it.each<[accept: string, isWatch: boolean, message: string]>([
    [protobuf, false, `${only}application/json, application/yaml, ${protobuf}`],
    ['application/yaml', true, `${only}application/json;stream=watch, ${protobuf};stream=watch`],
    ['application/json;as=Chair;v=v1;g=meta.k8s.io', false, `${only}application/json, application/yaml, ${protobuf}`],
    ['text/html', false, `${routes}application/json, application/yaml, ${protobuf}`],
    ['application/cbor', false, `${routes}application/json, application/yaml, ${protobuf}`],
    [
      'text/html',
      true,
      `${routes}application/json, application/yaml, ${protobuf}, application/json;stream=watch, ${protobuf};stream=watch`,
    ],
  ])('refuses "%s" (watch: %s)', (accept, isWatch, message) => {
    expect(() => negotiate({ accept }, isWatch)).toThrow(expect.objectContaining({ code: 406, message }));
  });
});
