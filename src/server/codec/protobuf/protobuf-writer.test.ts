import { fromJSON, type MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../api/json.ts';
import { jsonText } from '../../../api/json-text.ts';
import { builtInResources } from '../../registry/built-in-resources.ts';
import type { Resource } from '../../registry/resource.ts';
import { anyObjectOf } from '../any-object.testing.ts';
import { decodeBody } from '../decode-body.ts';
import { protobufMessages } from './generated/protobuf-fields.ts';
import { messageOfKind } from './message-tables.ts';
import { readEnvelope, readKind } from './protobuf-reader.ts';
import { specialWriter } from './protobuf-special-writers.ts';
import { encodeItem, encodeProtobuf, listParts } from './protobuf-writer.ts';

const contentType = 'application/vnd.kubernetes.protobuf';
const resourceOf = (plural: string) => builtInResources().find((resource) => resource.plural === plural)!;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** As the server stores it. */
function stored(object: JsonObject, resource: Resource): JsonObject {
  return decodeBody({ contentType: 'application/json', bytes: Buffer.from(jsonText(object)), resource }).object;
}

describe('encodeProtobuf()', () => {
  const kinds = builtInResources().map((resource) => [`${resource.groupVersion} ${resource.kind}`, resource] as const);

  it.each(kinds)('writes any %s so that it is read back equal', (_name, resource) => {
    const runs = { numRuns: 30 };
    fc.assert(
      fc.property(anyObjectOf(resource.schema, 7), (fields) => {
        const object = stored({ kind: resource.kind, apiVersion: resource.groupVersion, ...fields }, resource);
        const { object: back } = decodeBody({ contentType, bytes: encodeProtobuf(object), resource });
        expect(back).toEqual(object);
      }),
      runs,
    );
  });

  it('writes what Go writes, byte for byte: zeros by value, nothing behind absent pointers, sorted maps', () => {
    const metadata = { name: 'a', namespace: 'b', creationTimestamp: '2024-01-02T03:04:05Z' };
    const bytes = encodeProtobuf({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { y: '2', x: '1' } });
    const meta =
      '0a0161' + // name
      '1200' + // generateName, absent
      '1a0162' + // namespace
      '2200' + // selfLink
      '2a00' + // uid
      '3200' + // resourceVersion
      '3800' + // generation
      '420808a5facdac061000'; // creationTimestamp: seconds, and nanoseconds that are always zero
    const data = '12060a0178120131' + '12060a0179120132';
    const raw = `0a${(meta.length / 2).toString(16)}${meta}${data}`;
    const type = '0a0f' + '0a027631' + '1209436f6e6669674d6170';
    expect(hex(bytes)).toBe(`6b387300${type}12${(raw.length / 2).toString(16)}${raw}1a002200`);
  });

  it('keeps the zeros behind pointers, and empty structs', () => {
    const spec = {
      containers: [{ name: 'c', image: 'i', securityContext: { privileged: false, runAsUser: 0 }, resources: {} }],
      volumes: [{ name: 'v', emptyDir: {} }],
      terminationGracePeriodSeconds: 0,
    };
    const pods = resourceOf('pods');
    const object = stored({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' }, spec }, pods);
    expect(decodeBody({ contentType, bytes: encodeProtobuf(object), resource: pods }).object).toEqual(object);
    expect(object.spec).toMatchObject(spec);
  });

  it('writes no time as a message without fields', () => {
    const event = { kind: 'Event', apiVersion: 'v1', metadata: {}, eventTime: null, involvedObject: {} };
    const raw = readEnvelope(encodeProtobuf(event)).raw;
    expect(readKind(raw, 'v1', 'Event')).not.toHaveProperty('eventTime');
    expect(hex(raw)).toContain('5200'); // field 10, empty
  });

  it('writes a list as the sum of its parts', () => {
    const items = ['a', 'b'].map((name) => ({ metadata: { name }, data: { k: name } }));
    const metadata = { resourceVersion: '7', continue: 'more', remainingItemCount: 3 };
    const whole = encodeProtobuf({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items });
    const encoded = items.map((item) => encodeItem(item, 'v1', 'ConfigMapList'));
    expect(Buffer.concat(listParts('v1', 'ConfigMapList', metadata, encoded))).toEqual(whole);
    const { kind, raw } = readEnvelope(whole);
    expect(kind).toBe('ConfigMapList');
    expect(readByProtoLoader(raw)).toEqual({ metadata, items });
  });

  it('has a table for every built-in kind, and for what its subresources answer', () => {
    for (const { groupVersion, kind, subresources } of builtInResources()) {
      expect([kind, messageOfKind(groupVersion, kind)?.name]).toEqual([kind, expect.any(String)]);
      for (const { kind: part, group, version } of subresources) {
        if (part.endsWith('Options')) continue; // of pods: what is proxied is no object
        const apiVersion = version === undefined ? groupVersion : group ? `${group}/${version}` : version;
        expect([part, messageOfKind(apiVersion, part)?.name]).toEqual([part, expect.any(String)]);
      }
    }
  });

  it('knows how to write every type that a table names', () => {
    const named = new Set(
      [...protobufMessages.matchAll(/ (?:\[\]|map<string,)?([a-z]+(?:\/v\d+)?\.[A-Za-z0-9]+)>?\??(?=;|\n)/g)].map(
        ([, type]) => type!,
      ),
    );
    const tables = new Set([...protobufMessages.matchAll(/^(\S+): /gm)].map(([, name]) => name!));
    const special = [...named].filter((name) => !tables.has(name));
    expect(named.size).toBeGreaterThan(300);
    expect(special.filter((name) => !specialWriter(name))).toEqual([]);
  });
});

/** Another reader than ours: the few messages of a list of ConfigMaps, from their definition. */
function readByProtoLoader(raw: Uint8Array): unknown {
  const field = (id: number, type: string) => ({ id, type });
  const nested = {
    Meta: { fields: { name: field(1, 'string') } },
    ListMeta: {
      fields: {
        resourceVersion: field(2, 'string'),
        continue: field(3, 'string'),
        remainingItemCount: field(4, 'int64'),
      },
    },
    ConfigMap: { fields: { metadata: field(1, 'Meta'), data: { keyType: 'string', ...field(2, 'string') } } },
    ConfigMapList: {
      fields: { metadata: field(1, 'ListMeta'), items: { rule: 'repeated' as const, ...field(2, 'ConfigMap') } },
    },
    Lists: { methods: { get: { requestType: 'Meta', responseType: 'ConfigMapList' } } },
  };
  const { get } = fromJSON({ nested } as Parameters<typeof fromJSON>[0], { longs: Number }).Lists as Record<
    string,
    MethodDefinition<object, object>
  >;
  return get!.responseDeserialize(Buffer.from(raw));
}
