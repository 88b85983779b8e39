import { expect, it } from 'vitest';
import { StatusError } from '../../api/errors/status-error.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { type BodyType, decodeBody } from './decode-body.ts';
import type { FieldValidation } from './field-validation.ts';

const resourceOf = (plural: string, group = ''): BodyType =>
  builtInResources().find((resource) => resource.plural === plural && resource.group === group)!;
const configMaps = resourceOf('configmaps');
const widgets: BodyType = {
  groupVersion: 'ex.io/v1',
  kind: 'Widget',
  isCustom: true,
  schema: builtInSchemas().custom({ type: 'object', properties: { spec: { type: 'object' } } }),
};

function decode(
  text: string,
  resource = configMaps,
  fieldValidation: FieldValidation = 'Warn',
  type = 'application/json',
) {
  return decodeBody({ contentType: type, bytes: Buffer.from(text), resource, fieldValidation });
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (err) {
    expect(err).toBeInstanceOf(StatusError);
    return `${(err as StatusError).code} ${(err as StatusError).message}`;
  }
  return '';
}

it.each([[undefined], [''], ['application/json'], ['application/json; charset=utf-8'], ['Application/JSON']])(
  'decodeBody() reads JSON under the content type %j',
  (contentType) => {
    const bytes = Buffer.from('{"metadata":{"name":"a"}}');
    expect(decodeBody({ contentType, bytes, resource: configMaps }).object).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a' },
    });
  },
);

it('decodeBody() reads YAML', () => {
  const { object } = decode('metadata:\n  labels: {x: "y"}\ndata:\n  k: v\n', configMaps, 'Warn', 'application/yaml');
  expect(object).toMatchObject({ kind: 'ConfigMap', metadata: { labels: { x: 'y' } }, data: { k: 'v' } });
});

it.each(['text/plain', 'garbage', 'application/x-www-form-urlencoded'])('decodeBody() answers 415 to %s', (type) => {
  expect(refusal(() => decode('{}', configMaps, 'Warn', type))).toBe(
    '415 the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  );
});

const unrecognized =
  "400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
const struct = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
it.each([
  ['', `${unrecognized}unexpected end of JSON input (<empty>)`],
  ['{"kind":"ConfigMap",', `${unrecognized}unexpected end of JSON input ({"kind":"ConfigMap",)`],
  ['hello', `${unrecognized}invalid character 'h' looking for beginning of value (68656c6c6f)`],
  ['[]', `${unrecognized}json: cannot unmarshal array into Go value of type ${struct} (5b5d)`],
  [
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} trailing',
    `${unrecognized}invalid character 't' after top-level value ({"apiVersion":"v1","kind":"Con ...)`,
  ],
  [
    '{"apiVersion":"v1","kind":"Secret"}',
    '400 Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
  ],
  [
    '{"apiVersion":"apps/v1","kind":"ConfigMap"}',
    '400 ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1"',
  ],
  [
    '{"data":{"k":5}}',
    '400 ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
  ],
])('decodeBody() refuses %j in the words of the reference', (text, want) => {
  expect(refusal(() => decode(text))).toBe(want);
});

it('decodeBody() takes null as an empty object', () => {
  expect(decode('null').object).toEqual({ kind: 'ConfigMap', apiVersion: 'v1', metadata: {} });
});

it('decodeBody() warns of unknown and duplicate fields, refuses them, or says nothing', () => {
  const text = '{"metadata":{"name":"a","colour":"red"},"data":{"k":"1","k":"2"},"extra":1}';
  const faults = ['unknown field "metadata.colour"', 'duplicate field "data.k"', 'unknown field "extra"'];
  expect(decode(text).warnings).toEqual(faults);
  expect(decode(text, configMaps, 'Ignore').warnings).toEqual([]);
  expect(refusal(() => decode(text, configMaps, 'Strict'))).toBe(
    `400 ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${faults.join(', ')}`,
  );
});

it.each([
  [
    '{"metadata":{"name":"b"},"spec":{}}',
    `400 the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"b"},"spec":{}}' ({"metadata":{"name":"b"},"spec ...)`,
  ],
  [
    '{"apiVersion":"ex.io/v2","kind":"Widget"}',
    '400 the API version in the data (ex.io/v2) does not match the expected API version (ex.io/v1)',
  ],
  [
    '{"apiVersion":"ex.io/v1","kind":"Gadget","metadata":{"name":"b"}}',
    '422 Gadget.ex.io "b" is invalid: kind: Invalid value: "Gadget": must be Widget',
  ],
])('decodeBody() refuses the custom resource %j', (text, want) =>
  expect(refusal(() => decode(text, widgets))).toBe(want),
);

it('decodeBody() has no protobuf for custom resources', () => {
  expect(refusal(() => decode('', widgets, 'Warn', 'application/vnd.kubernetes.protobuf'))).toMatch(/^415 /);
});

it('decodeBody() takes DeleteOptions under every version it is told of', () => {
  const schema = builtInSchemas().byName('io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions')!;
  const options = { groupVersion: 'v1', kind: 'DeleteOptions', isCustom: false, schema };
  const text = '{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","gracePeriodSeconds":0}';
  expect(decode(text, { ...options, alsoVersions: ['meta.k8s.io/v1'] }).object).toEqual({
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
  });
  expect(refusal(() => decode(text, options))).toMatch(/^400 /);
});
