import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { isStatusError } from '../../../api/errors/status-error.ts';
import { ProtobufError, Writer } from '../../../api/protobuf.ts';
import { builtInResources } from '../../registry/built-in-resources.ts';
import { decodeBody } from '../decode-body.ts';
import { readEnvelope, readKind } from './protobuf-reader.ts';

const contentType = 'application/vnd.kubernetes.protobuf';
const resourceOf = (plural: string) => builtInResources().find((resource) => resource.plural === plural)!;

function envelope(apiVersion: string, kind: string, write: (writer: Writer) => void): Buffer {
  const raw = new Writer();
  write(raw);
  const body = new Writer();
  body.message(1, (type) => type.string(1, apiVersion).string(2, kind));
  body.bytes(2, raw.finish());
  body.string(3, '').string(4, '');
  return Buffer.concat([Buffer.from('k8s\0'), body.finish()]);
}

it('reads a ConfigMap with the zeros that Go writes', () => {
  const bytes = envelope('v1', 'ConfigMap', (w) => {
    w.message(1, (meta) => {
      meta.string(1, 'a').string(2, '').string(3, 'default').string(5, '').int(7, 0);
      meta.message(8, () => {}); // no time
      meta.message(11, (entry) => entry.string(1, 'x').string(2, 'y'));
    });
    w.message(2, (entry) => entry.string(1, 'k').string(2, 'v'));
    w.message(2, (entry) => entry.string(1, '__proto__').string(2, 'data'));
    w.message(3, (entry) => entry.string(1, 'b').bytes(2, Uint8Array.of(0, 1, 2)));
    w.bool(4, false);
    w.string(99, 'a field of tomorrow');
  });
  const { object } = decodeBody({ contentType, bytes, resource: resourceOf('configmaps') });
  expect(object).toEqual({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a', namespace: 'default', labels: { x: 'y' } },
    data: JSON.parse('{"__proto__":"data","k":"v"}'),
    binaryData: { b: 'AAEC' },
    immutable: false,
  });
});

it('reads pointers, inlined messages, quantities, int-or-strings and times of a Pod', () => {
  const bytes = envelope('v1', 'Pod', (w) => {
    w.message(1, (meta) => meta.message(8, (time) => time.int(1, 1_700_000_000).int(2, 5)));
    w.message(2, (spec) => {
      spec.message(1, (volume) => {
        volume.string(1, 'data');
        volume.message(2, (source) => source.message(2, (empty) => empty.string(1, '')));
      });
      spec.message(2, (container) => {
        container.string(1, 'c').string(2, 'x:1').string(3, 'sh').bool(16, false);
        container.message(8, (resources) =>
          resources.message(1, (entry) => entry.string(1, 'cpu').message(2, (quantity) => quantity.string(1, '0.5'))),
        );
        container.message(10, (probe) =>
          probe.message(1, (handler) =>
            handler.message(2, (get) =>
              get.string(1, '/').message(2, (port) => port.int(1, 1).int(2, 0).string(3, 'web')),
            ),
          ),
        );
      });
      spec.int(4, 0);
    });
  });
  const { object } = decodeBody({ contentType, bytes, resource: resourceOf('pods') });
  expect(object).toMatchObject({
    metadata: { creationTimestamp: '2023-11-14T22:13:20Z' },
    spec: {
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        {
          name: 'c',
          image: 'x:1',
          command: ['sh'],
          resources: { limits: { cpu: '500m' } },
          livenessProbe: { httpGet: { path: '/', port: 'web' } },
        },
      ],
      terminationGracePeriodSeconds: 0,
    },
  });
  expect(object).not.toHaveProperty('spec.containers[0].stdin');
});

it('reads DeleteOptions for any group version', () => {
  const bytes = envelope('apps/v1', 'DeleteOptions', (w) => w.int(1, 0).string(4, 'Background').string(5, 'All'));
  const { raw, apiVersion, kind } = readEnvelope(bytes);
  expect(readKind(raw, apiVersion, kind)).toEqual({
    gracePeriodSeconds: 0,
    propagationPolicy: 'Background',
    dryRun: ['All'],
  });
});

it.each([
  ['no envelope', Buffer.from('{}')],
  ['nothing', Buffer.alloc(0)],
  ['a body cut short', envelope('v1', 'ConfigMap', (w) => w.bytes(1, Uint8Array.of(0x0a, 0x05, 0x61)))],
  ['a wrong wire type', envelope('v1', 'ConfigMap', (w) => w.int(1, 5))],
])('answers 400 to %s', (_claim, bytes) => {
  try {
    decodeBody({ contentType, bytes, resource: resourceOf('configmaps') });
    expect.unreachable();
  } catch (err) {
    expect(isStatusError(err, 'BadRequest')).toBe(true);
  }
});

it('refuses a map of more entries than there may be', () => {
  const entries = (count: number) =>
    envelope('v1', 'ConfigMap', (writer) => {
      for (let i = 0; i < count; i++) writer.message(2, (entry) => entry.string(1, `k${i}`).string(2, 'v'));
    });
  const read = (count: number) =>
    decodeBody({ contentType, bytes: entries(count), resource: resourceOf('configmaps') });
  expect(Object.keys(read(65_536).object.data as object)).toHaveLength(65_536);
  expect(() => read(65_537)).toThrow('a map with more than 65536 entries');
});

it('ends in an object or an error of its own on any input, for any kind', () => {
  const kinds = fc.constantFrom(
    ['v1', 'Pod'],
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
    ['authorization.k8s.io/v1', 'SubjectAccessReview'],
    ['coordination.k8s.io/v1', 'Lease'],
  );
  fc.assert(
    fc.property(kinds, fc.uint8Array({ maxLength: 200 }), ([apiVersion, kind], bytes) => {
      try {
        readKind(bytes, apiVersion!, kind!);
      } catch (err) {
        expect(err).toBeInstanceOf(ProtobufError);
      }
    }),
    { numRuns: 2000 },
  );
});

it('refuses to nest without end', () => {
  let raw = new Uint8Array(0);
  for (let i = 0; i < 500; i++) raw = Uint8Array.from(new Writer().bytes(28, raw).finish());
  const schema = new Writer().bytes(1, raw).finish();
  const version = new Writer().bytes(4, schema).finish();
  const spec = new Writer().bytes(7, version).finish();
  const crd = Uint8Array.from(new Writer().bytes(2, spec).finish());
  expect(() => readKind(crd, 'apiextensions.k8s.io/v1', 'CustomResourceDefinition')).toThrow(ProtobufError);
});

it.each<[value: bigint, want: number | bigint]>([
  [0n, 0],
  [-1n, -1],
  [2n ** 49n - 1n, 2 ** 49 - 1],
  [2n ** 49n, 2 ** 49],
  [2n ** 53n - 1n, Number.MAX_SAFE_INTEGER],
  [2n ** 53n, 2n ** 53n],
  [-(2n ** 53n), -(2n ** 53n)],
  [2n ** 63n - 1n, 2n ** 63n - 1n],
  [-(2n ** 63n), -(2n ** 63n)],
])('reads the integer %s as it is', (value, want) => {
  const revision = new Writer().int64(3, value).finish();
  expect(readKind(revision, 'apps/v1', 'ControllerRevision')?.revision ?? 0).toBe(want);
});

describe('readKind() takes time in proportion to its bytes', () => {
  const repeated = (size: number, write: (writer: Writer, index: number) => void): Uint8Array => {
    const writer = new Writer();
    for (let i = 0; i < size; i++) write(writer, i);
    return Uint8Array.from(writer.finish());
  };
  const inSpec = (spec: Uint8Array) => Uint8Array.from(new Writer().bytes(2, spec).finish());
  it.each<[what: string, kind: string, make: (size: number) => Uint8Array]>([
    ['fields it does not know', 'ConfigMap', (size) => repeated(size, (w) => w.string(99, 'x'))],
    [
      'entries of a map',
      'ConfigMap',
      (size) => repeated(size, (w, i) => w.message(2, (e) => e.string(1, `k${i}`).string(2, 'v'))),
    ],
    [
      'one entry of a map again and again',
      'ConfigMap',
      (size) => repeated(size, (w) => w.message(2, (e) => e.string(1, 'k'))),
    ],
    [
      'one field again and again',
      'ConfigMap',
      (size) => repeated(size, (w) => w.message(1, (meta) => meta.string(1, 'name'))),
    ],
    ['elements with nothing in them', 'Pod', (size) => inSpec(repeated(size, (w) => w.bytes(2, new Uint8Array(0))))],
    [
      'packed numbers',
      'Pod',
      (size) =>
        inSpec(Uint8Array.from(new Writer().message(14, (c) => c.bytes(4, new Uint8Array(size).fill(1))).finish())),
    ],
    [
      'a long text',
      'ConfigMap',
      (size) => repeated(1, (w) => w.message(2, (e) => e.string(1, 'k').string(2, 'v'.repeat(size)))),
    ],
    [
      'a length that is not there',
      'ConfigMap',
      (size) =>
        Uint8Array.from([
          ...new Uint8Array(size).fill(0x20).map((byte, i) => (i % 2 === 0 ? byte : 1)),
          0x0a,
          0xff,
          0xff,
          0x7f,
        ]),
    ],
  ])('with %s', async (_what, kind, make) => {
    const run = (bytes: Uint8Array) => {
      try {
        readKind(bytes, 'v1', kind);
      } catch (err) {
        expect(err).toBeInstanceOf(ProtobufError);
      }
    };
    await expectLinear('readKind()', { make, run, from: 1_000, limit: 16_000 });
  });
});
