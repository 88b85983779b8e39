/** Bodies in protobuf: what its readers have been slow at is many tiny pieces, deep nesting, and lengths that lie. */
import { Writer } from '../../../src/api/protobuf.ts';
import { requestCase, type ServerTarget } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { LONGEST_BODY } from './body-cases.ts';
import { times } from './text-shapes.ts';

const TYPE = 'application/vnd.kubernetes.protobuf';
const MAPS = '/api/v1/namespaces/stall/configmaps';
const PODS = '/api/v1/namespaces/stall/pods';
const MAGIC = Buffer.from('k8s\0', 'latin1');

/** Of the Unknown that every body is wrapped in: typeMeta is 1, raw 2, contentEncoding 3. */
function envelope(kind: string, raw: Buffer, more: (writer: Writer) => void = () => {}): Buffer {
  const writer = new Writer(raw.length + 256);
  writer.message(1, (meta) => meta.string(1, 'v1').string(2, kind));
  writer.bytes(2, raw);
  more(writer);
  return Buffer.concat([MAGIC, writer.finish()]);
}

function named(name: string, more: (writer: Writer) => void): Buffer {
  const writer = new Writer(64 * 1024);
  writer.message(1, (meta) => meta.string(1, name));
  more(writer);
  return Buffer.from(writer.finish());
}

function create(
  name: string,
  make: (size: number, label: string) => Buffer,
  path: string = MAPS,
  limit: number = LONGEST_BODY,
): StallCase<ServerTarget> {
  return requestCase(
    `${TYPE}: ${name}`,
    [`body:${TYPE}`],
    limit,
    (size, label) => ({ method: 'POST', path, type: TYPE, body: make(size, label) }),
    { after: (target, _, label) => target.ask({ method: 'DELETE', path: `${path}/${label}` }) },
  );
}

const entry = (field: number, i: number) => (writer: Writer) =>
  writer.message(field, (one) => one.string(1, `k${i}`).string(2, 'v'));

export const protobufCases: readonly StallCase<ServerTarget>[] = [
  create('many keys', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, (writer) => times(size / 13, (i) => entry(2, i)(writer))),
    ),
  ),
  create('one key again and again', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, (writer) => times(size / 13, () => entry(2, 1)(writer))),
    ),
  ),
  create('one long value', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, (writer) => writer.message(2, (one) => one.string(1, 'k').string(2, 'v'.repeat(size)))),
    ),
  ),
  create('many unknown fields', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, (writer) => times(size / 3, () => writer.int(100, 1))),
    ),
  ),
  create('unknown groups, one in the other', (size, label) =>
    envelope('ConfigMap', Buffer.concat([named(label, () => {}), Buffer.alloc(size, 0xa3)])),
  ),
  create('metadata again and again', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, (writer) => times(size / 10, () => writer.message(1, (meta) => meta.string(1, label)))),
    ),
  ),
  create('labels', (size, label) => envelope('ConfigMap', metadataWith(label, size / 13, 11))),
  create('annotations', (size, label) => envelope('ConfigMap', metadataWith(label, size / 13, 12))),
  create(
    'empty containers',
    (size, label) =>
      envelope(
        'Pod',
        named(label, (writer) => writer.message(2, (spec) => times(size / 2, () => spec.message(2, () => {})))),
      ),
    PODS,
    200_000,
  ),
  create('a message in a message', (size) => {
    let inner = Buffer.alloc(0);
    for (let depth = 0; depth < Math.min(size / 8, 5_000); depth++)
      inner = Buffer.from(new Writer().bytes(1, inner).finish());
    return envelope('ConfigMap', inner);
  }),
  create('lengths that lie', (size) => envelope('ConfigMap', Buffer.alloc(size, 0x0a))),
  create('envelopes of many parts', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, () => {}),
      (writer) => times(size / 6, () => writer.message(1, (meta) => meta.string(1, 'v1'))),
    ),
  ),
  create('a long content encoding', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, () => {}),
      (writer) => writer.string(3, 'a'.repeat(size)),
    ),
  ),
  create('a long kind', (size, label) =>
    envelope(
      'K'.repeat(size),
      named(label, () => {}),
    ),
  ),
  create('zeros', (size) => Buffer.concat([MAGIC, Buffer.alloc(size)])),
  create('no magic', (size) => Buffer.alloc(size, 0x31)),
  create('letters that are no UTF-8', (size, label) =>
    envelope(
      'ConfigMap',
      named(label, (writer) => writer.message(2, (one) => one.string(1, 'k').bytes(2, Buffer.alloc(size, 0xff)))),
    ),
  ),
];

function metadataWith(name: string, count: number, field: number): Buffer {
  const writer = new Writer(64 * 1024);
  writer.message(1, (meta) => {
    meta.string(1, name);
    times(count, (i) => entry(field, i)(meta));
  });
  return Buffer.from(writer.finish());
}
