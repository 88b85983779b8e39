import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { sharedObject } from '../../codec/json/shared-objects.ts';
import { JsonEvents } from '../../encodings/json-events.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import type { Resource } from '../../registry/resource.ts';
import { builtInSchemas } from '../../schema/schemas.ts';
import { ObjectCodec } from './object-codec.ts';

const widgets: Resource = {
  group: 'example.com',
  version: 'v1',
  groupVersion: 'example.com/v1',
  plural: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  listKind: 'WidgetList',
  isNamespaced: true,
  verbs: ['get', 'list', 'watch'],
  shortNames: [],
  categories: [],
  subresources: [],
  schema: builtInSchemas().custom({ type: 'object' }),
  isCustom: true,
  selectableFields: ['spec.color'],
};
const registry = new Registry();
const formOf = (resource: Resource) => new ObjectCodec(resource, factsOf(resource));
const configMaps = formOf(registry.find('', 'v1', 'configmaps')!);
const pods = formOf(registry.find('', 'v1', 'pods')!);
const custom = formOf(widgets);

const UID = '7b5c2a0e-0000-4000-8000-000000000001';

/** Its own uid comes last, as a client may write it. */
function objectOf(codec: ObjectCodec, metadata: KubeObject['metadata'], rest: JsonObject = {}): KubeObject {
  return { ...rest, metadata: { ...metadata, namespace: 'ns', name: metadata.name ?? 'a', uid: UID }, ...codec.type };
}

const tricky: [name: string, metadata: KubeObject['metadata'], rest: JsonObject][] = [
  ['nothing but names', {}, {}],
  ['a generated name', { name: 'uid-x2', generateName: '"uid":"' }, {}],
  [
    'owners with uids',
    { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'uid', uid: 'other', controller: true }] },
    {},
  ],
  ['labels that look like a uid', { labels: { uid: 'x', 'a/uid': '"uid":"' }, annotations: { '"uid":"': '"' } }, {}],
  ['a resourceVersion in its data', {}, { data: { resourceVersion: '5', '","resourceVersion":"9': '"}}' } }],
  ['text beyond ASCII', { annotations: { ключ: '值 \u{1f600} \u2028 é' } }, { data: { x: '\u0000\u001f"\\/<>&' } }],
  ['nothing in it', {}, { data: {}, spec: null as never }],
];

describe('ObjectCodec and StoredObject', () => {
  for (const [kind, codec] of [
    ['built-in', configMaps],
    ['custom', custom],
  ] as const)
    it.each(tricky)(`give back a ${kind} object with %s, with its version`, (_claim, metadata, rest) => {
      const object = objectOf(codec, metadata, rest);
      for (const revision of [1, 9, 10, 123_456_789, Number.MAX_SAFE_INTEGER]) {
        const stored = codec.encode({ ...object, metadata: { resourceVersion: '77', ...object.metadata } });
        expect(JSON.parse(stored.toString())).toEqual(object);
        const { name, namespace } = object.metadata;
        const cached = codec.decode(namespace!, name!, revision, stored);
        const want = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
        expect(cached.parse()).toEqual(want);
        expect(cached.labels).toEqual(object.metadata.labels);
        expect(JSON.parse(cached.metadataBytes().toString())).toEqual(want.metadata);
        // An element of a list: a comma, then JSON; built-in kinds leave their type out.
        expect(cached.bytes[0]).toBe(0x2c);
        const { kind: _kind, apiVersion: _apiVersion, ...untyped } = want;
        expect(JSON.parse(cached.bytes.toString('utf8', 1))).toEqual(codec === custom ? want : untyped);
        // Behind the head of a single object the same bytes are the whole of it.
        const single = Buffer.concat([codec.head, cached.bytes.subarray(codec.skip)]).toString();
        expect(JSON.parse(single)).toEqual(want);
        expect(single.startsWith(JSON.stringify(codec.type).slice(0, -1))).toBe(true);
      }
    });

  it('hold whatever is in an object', () => {
    const word = fc.string({ unit: 'binary', maxLength: 12 });
    fc.assert(
      fc.property(
        fc.constantFrom(configMaps, custom),
        fc.dictionary(word, word),
        fc.dictionary(word, word),
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        (codec, annotations, data, revision, later) => {
          const plain = (dictionary: Record<string, string>) => ({ ...dictionary });
          const object = JSON.parse(
            JSON.stringify(objectOf(codec, { annotations: plain(annotations) }, { data: plain(data) })),
          ) as KubeObject;
          const cached = codec.decode('ns', 'a', revision, codec.encode(object));
          const at = (version: number) => ({
            ...object,
            metadata: { ...object.metadata, resourceVersion: String(version) },
          });
          expect(cached.parse()).toEqual(at(revision));
          expect(JSON.parse(cached.metadataBytes().toString())).toEqual(at(revision).metadata);
          const gone = cached.withRevision(later);
          expect(gone.parse()).toEqual(at(later));
          expect([gone.revision, gone.key, cached.revision]).toEqual([later, 'ns/a', revision]);
          expect(gone.withRevision(revision).bytes).toEqual(cached.bytes);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('read bytes in the middle of a larger buffer', () => {
    const stored = configMaps.encode(objectOf(configMaps, {}));
    const larger = new Uint8Array(stored.length + 9);
    larger.set(stored, 4);
    const cached = configMaps.decode('ns', 'a', 3, larger.subarray(4, 4 + stored.length));
    expect(cached.parse().metadata).toEqual({ name: 'a', namespace: 'ns', uid: UID, resourceVersion: '3' });
  });

  it('refuse what has no uid: nobody could tell where its version goes', () => {
    expect(() => configMaps.decode('ns', 'a', 3, Buffer.from('{"metadata":{"name":"a"}}'))).toThrow(/no uid/);
  });

  it('answer the fields of the kind, and nothing for others', () => {
    const pod = pods.decode('ns', 'a', 3, pods.encode(objectOf(pods, {}, { spec: { nodeName: 'n1' } })));
    expect(['metadata.name', 'metadata.namespace', 'spec.nodeName', 'status.phase', 'spec.x'].map((f) => pod.field(f)))
      // biome-ignore format: one row
      .toEqual(['a', 'ns', 'n1', '', '']);
    const widget = custom.decode('ns', 'a', 3, custom.encode(objectOf(custom, {}, { spec: { color: 'red' } })));
    expect(widget.field('spec.color')).toBe('red');
  });

  it('keep the form of a cluster-wide object: its key is its name', () => {
    const nodes = formOf(registry.find('', 'v1', 'nodes')!);
    const stored = nodes.encode({ ...nodes.type, metadata: { name: 'n1', uid: UID } });
    expect(nodes.decode('', 'n1', 4, stored).key).toBe('n1');
  });
});

it('shared texts within what is owned are stored as they would be written out', () => {
  const entry = (fieldsV1: JsonObject) => ({ manager: 'm', fieldsType: 'FieldsV1', fieldsV1, subresource: '' });
  const text = '{"f:a<b":{"k:{\\"name\\":\\"é\\"}":{".":{}}}}';
  const stored = (fieldsV1: JsonObject) =>
    configMaps.encode(objectOf(configMaps, { managedFields: [entry(fieldsV1)] as never })).toString();
  expect(stored(sharedObject(text))).toBe(stored(JSON.parse(text) as JsonObject));
});

describe('JsonEvents', () => {
  it.each([
    ['built-in', configMaps],
    ['custom', custom],
  ])('frames a %s object as one line with its type', (_kind, codec) => {
    const encoding = new JsonEvents(codec);
    const object = objectOf(codec, { annotations: { a: 'line\nfeed' } });
    const cached = codec.decode('ns', 'a', 12, codec.encode(object));
    for (const type of ['ADDED', 'MODIFIED', 'DELETED'] as const) {
      const frame = encoding.frame(type, cached).toString();
      expect(frame.indexOf('\n')).toBe(frame.length - 1);
      expect(JSON.parse(frame)).toEqual({ type, object: cached.parse() });
    }
  });

  it('makes bookmarks that carry a version, and a mark at the end of the initial state', () => {
    const encoding = new JsonEvents(configMaps);
    const metadata = { resourceVersion: '7' };
    expect(JSON.parse(encoding.bookmark(7, false).toString())).toEqual({
      type: 'BOOKMARK',
      object: { kind: 'ConfigMap', apiVersion: 'v1', metadata },
    });
    const last = JSON.parse(encoding.bookmark(7, true).toString()) as { object: KubeObject };
    expect(last.object.metadata).toEqual({ ...metadata, annotations: { 'k8s.io/initial-events-end': 'true' } });
  });
});
