import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ProtobufError, Writer } from '../../api/protobuf.ts';
import { isStatusError } from '../../api/status-error.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { decodeBody } from './decode-body.ts';
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
