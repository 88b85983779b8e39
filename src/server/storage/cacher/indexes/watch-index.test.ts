import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFieldSelector, parseLabelSelector } from '../../../../api/index.ts';
import { JsonEvents } from '../../../encodings/json-events.ts';
import { factsOf } from '../../../registry/kind-facts.ts';
import { Registry } from '../../../registry/registry.ts';
import type { EventEncoding } from '../../event-encoding.ts';
import { ObjectCodec } from '../../objects/object-codec.ts';
import { ObjectEvent } from '../../objects/object-event.ts';
import { type EventType, Selection } from '../../objects/selection.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { type Subscriber, WatchIndex } from './watch-index.ts';

const pods = new Registry().find('', 'v1', 'pods')!;
const codec = new ObjectCodec(pods, factsOf(pods));

type PodParts = { namespace?: string; name?: string; labels?: Record<string, string>; node?: string };

function pod(revision: number, { namespace = 'ns', name = 'a', labels = {}, node = '' }: PodParts = {}): StoredObject {
  const metadata = { name, namespace, uid: 'u', labels };
  const stored = codec.encode({ ...codec.type, metadata, spec: { ...(node && { nodeName: node }) } });
  return codec.decode(namespace, name, revision, stored);
}

/** Says of each event its type, its object and its revision; counts how often it was asked. */
class PlainEncoding implements EventEncoding {
  readonly id: string;
  readonly contentType = 'text/plain';
  readonly made: string[] = [];

  constructor(id = 'plain') {
    this.id = id;
  }

  frame(type: EventType, { key, revision }: StoredObject): Buffer {
    this.made.push(`${type} ${key}@${revision}`);
    return Buffer.from(`${type} ${key}@${revision};`);
  }

  bookmark(): Buffer {
    return Buffer.alloc(0);
  }

  error(): Buffer {
    return Buffer.alloc(0);
  }
}

/** A selection that counts how often it was asked. */
class AskedSelection extends Selection {
  asked = 0;

  override typeOf(event: ObjectEvent): EventType | undefined {
    this.asked++;
    return super.typeOf(event);
  }
}

class Reader implements Subscriber {
  readonly selection: AskedSelection;
  readonly encoding: EventEncoding;
  readonly got: string[] = [];
  readonly buffers: Buffer[] = [];
  onDeliver: () => void = () => {};

  constructor(encoding: EventEncoding, namespace = '', labels = '', fields = '') {
    this.encoding = encoding;
    const parts = { namespace, labels: parseLabelSelector(labels), fields: parseFieldSelector(fields) };
    this.selection = new AskedSelection(parts);
  }

  deliver(frames: readonly Buffer[], revision: number): void {
    this.buffers.push(...frames);
    this.got.push(`${frames.map(String).join('')} to ${revision}`);
    this.onDeliver();
  }
}

const change = (revision: number, now?: PodParts, before?: PodParts) =>
  new ObjectEvent(revision, now && pod(revision, now), before && pod(revision - 1, before), 0);

describe('WatchIndex', () => {
  it('asks only the groups an event can concern', () => {
    const index = new WatchIndex();
    const encoding = new PlainEncoding();
    const readers = {
      all: new Reader(encoding),
      ns: new Reader(encoding, 'ns'),
      other: new Reader(encoding, 'other'),
      named: new Reader(encoding, 'ns', '', 'metadata.name=a'),
      otherName: new Reader(encoding, '', '', 'metadata.name=b'),
      node1: new Reader(encoding, '', '', 'spec.nodeName=n1'),
      node2: new Reader(encoding, '', '', 'spec.nodeName=n2'),
    };
    for (const reader of Object.values(readers)) index.join(reader);
    index.publish([change(5, { node: 'n1' })], 5);
    const asked = () => Object.entries(readers).flatMap(([name, { selection }]) => (selection.asked > 0 ? [name] : []));
    expect(asked().sort()).toEqual(['all', 'named', 'node1', 'ns']);
    for (const name of ['all', 'ns', 'named', 'node1'] as const)
      expect(readers[name].got).toEqual(['ADDED ns/a@5; to 5']);
    for (const reader of Object.values(readers)) reader.selection.asked = 0;
    index.publish([change(6, { name: 'b', namespace: 'third', node: 'n3' })], 6);
    expect(asked().sort()).toEqual(['all', 'otherName']);
  });

  it('asks of many who each want a label only those whose label it is, or was', () => {
    const index = new WatchIndex();
    const encoding = new PlainEncoding();
    const readers = Array.from({ length: 50 }, (_, at) => new Reader(encoding, '', `group=g${at}`));
    const inAll = new Reader(encoding, '', 'group=g3,group!=g4,tier in (a)');
    for (const reader of [...readers, inAll]) index.join(reader);
    index.publish([change(5, { labels: { group: 'g3', tier: 'a' } }, { labels: { group: 'g7' } })], 5);
    const told = readers.flatMap(({ got }, at) => (got.length > 0 ? [`${at} ${got}`] : []));
    expect(told).toEqual(['3 ADDED ns/a@5; to 5', '7 DELETED ns/a@5; to 5']);
    expect(inAll.got).toEqual(['ADDED ns/a@5; to 5']);
    expect(readers.reduce((sum, { selection }) => sum + selection.asked, 0)).toBe(2);
    for (const reader of [...readers, inAll]) index.leave(reader);
    expect(index.size).toBe(0);
  });

  it('hangs who want one label in many namespaces by their namespaces', () => {
    const index = new WatchIndex();
    const encoding = new PlainEncoding();
    const readers = Array.from({ length: 50 }, (_, at) => new Reader(encoding, `ns${at}`, 'app=x'));
    for (const reader of readers) index.join(reader);
    index.publish([change(5, { namespace: 'ns7', labels: { app: 'x' } })], 5);
    expect(readers.flatMap(({ got }, at) => (got.length > 0 ? [at] : []))).toEqual([7]);
    expect(readers.reduce((sum, { selection }) => sum + selection.asked, 0)).toBeLessThan(3);
  });

  it('does not ask who wants the same name in another namespace', () => {
    const index = new WatchIndex();
    const encoding = new PlainEncoding();
    const readers = Array.from({ length: 20 }, (_, at) => new Reader(encoding, `ns${at}`, '', 'metadata.name=a'));
    for (const reader of readers) index.join(reader);
    index.publish([change(5, { namespace: 'ns7' })], 5);
    expect(readers.flatMap(({ got }, at) => (got.length > 0 ? [at] : []))).toEqual([7]);
    expect(readers.reduce((sum, { selection }) => sum + selection.asked, 0)).toBe(1);
  });

  it('tells the reader of a field value of an object that leaves it', () => {
    const index = new WatchIndex();
    const [node1, node2] = ['n1', 'n2'].map((n) => new Reader(new PlainEncoding(), '', '', `spec.nodeName=${n}`));
    for (const reader of [node1!, node2!]) index.join(reader);
    index.publish([change(5, { node: 'n2' }, { node: 'n1' })], 5);
    index.publish([change(6, undefined, { node: 'n2' })], 6);
    expect(node1!.got).toEqual(['DELETED ns/a@5; to 5']);
    expect(node2!.got).toEqual(['ADDED ns/a@5; to 5', 'DELETED ns/a@6; to 6']);
  });

  it('finds objects that lack a pinned field by its empty value', () => {
    const index = new WatchIndex();
    const reader = new Reader(new PlainEncoding(), '', '', 'spec.nodeName=');
    index.join(reader);
    index.publish([change(5, {}), change(6, { node: 'n1' }, {})], 6);
    expect(reader.got).toEqual(['ADDED ns/a@5;DELETED ns/a@6; to 6']);
  });

  it('makes one frame for all who want the same in the same encoding, and hands all the same buffer', () => {
    const index = new WatchIndex();
    const encoding = new PlainEncoding();
    const readers = Array.from({ length: 10 }, () => new Reader(encoding, 'ns', 'x=y'));
    const alike = new Reader(encoding); // another selection, the same frame
    const apart = new Reader(new PlainEncoding('other'), 'ns', 'x=y');
    for (const reader of [...readers, alike, apart]) index.join(reader);
    const events = [change(5, { labels: { x: 'y' } }), change(6, { labels: { x: 'y' } }, { labels: { x: 'y' } })];
    expect(index.publish(events, 6)).toBe(24);
    expect(encoding.made).toEqual(['ADDED ns/a@5', 'MODIFIED ns/a@6']);
    expect((apart.encoding as PlainEncoding).made).toEqual(encoding.made);
    expect(readers.reduce((sum, { selection }) => sum + selection.asked, 0)).toBe(2);
    for (const { buffers } of readers) {
      expect(buffers).toHaveLength(1);
      expect(buffers[0]).toBe(readers[0]!.buffers[0]);
    }
  });

  it('gives each batch once and in order, and nothing of it to a group that none of it concerns', () => {
    const index = new WatchIndex();
    const reader = new Reader(new PlainEncoding(), 'ns');
    const quiet = new Reader(new PlainEncoding(), 'other');
    index.join(reader);
    index.join(quiet);
    index.publish([change(5, {}), change(5, { name: 'b' }), change(6, { namespace: 'third' })], 7);
    index.publish([], 8);
    index.publish([change(9, {}, {})], 9);
    expect(reader.got).toEqual(['ADDED ns/a@5;ADDED ns/b@5; to 7', 'MODIFIED ns/a@9; to 9']);
    expect(quiet.got).toEqual([]);
  });

  it('lets members leave while they are being told', () => {
    const index = new WatchIndex();
    const encoding = new PlainEncoding();
    const readers = [0, 1, 2].map(() => new Reader(encoding));
    for (const reader of readers) {
      reader.onDeliver = () => index.leave(reader);
      index.join(reader);
    }
    index.publish([change(5, {})], 5);
    index.publish([change(6, {}, {})], 6);
    expect(readers.map(({ got }) => got)).toEqual(Array(3).fill(['ADDED ns/a@5; to 5']));
    expect([index.size, index.members()]).toEqual([0, []]);
  });

  it('counts a member once, and a stranger that leaves not at all', () => {
    const index = new WatchIndex();
    const reader = new Reader(new PlainEncoding());
    index.leave(reader);
    index.join(reader);
    index.leave(new Reader(new PlainEncoding()));
    expect([index.size, index.members()]).toEqual([1, [reader]]);
    index.leave(reader);
    index.leave(reader);
    expect([index.size, index.publish([change(5, {})], 5)]).toEqual([0, 0]);
  });

  it('loses nothing of the others when what one wants cannot be put into bytes', () => {
    const broken = new PlainEncoding('broken');
    const framePlain = broken.frame.bind(broken);
    broken.frame = (type, object) => {
      if (object.name === 'bad') throw new Error('Cannot show it');
      return framePlain(type, object);
    };
    const index = new WatchIndex();
    const first = new Reader(new PlainEncoding('first'));
    const failing = new Reader(broken);
    const last = new Reader(new PlainEncoding('last'), 'ns');
    for (const reader of [first, failing, last]) index.join(reader);
    try {
      index.publish([change(5, { name: 'bad' })], 5);
    } catch {
      // Whoever publishes may hear of it; the others must not notice.
    }
    index.publish([change(6, {})], 6);
    const want = ['ADDED ns/bad@5; to 5', 'ADDED ns/a@6; to 6'];
    expect({ first: first.got, last: last.got }).toEqual({ first: want, last: want });
  });

  it('delivers to each what its selection says, whoever else is there', () => {
    const parts = fc.record({
      namespace: fc.constantFrom('ns', 'other'),
      name: fc.constantFrom('a', 'b'),
      labels: fc.constantFrom({}, { x: 'y' }, { x: 'z' }),
      node: fc.constantFrom('', 'n1', 'n2'),
    });
    const wish = fc.tuple(
      fc.constantFrom('', 'ns', 'other'),
      fc.constantFrom('', 'x', 'x=y', '!x'),
      fc.constantFrom(
        '',
        'metadata.name=a',
        'spec.nodeName=n1',
        'spec.nodeName=',
        'spec.nodeName!=n1',
        'metadata.namespace=ns',
        'metadata.name=a,spec.nodeName=n2',
      ),
    );
    const leaving = fc.array(fc.nat(20), { maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(wish, { maxLength: 12 }),
        fc.array(parts, { maxLength: 15 }),
        leaving,
        (wishes, states, gone) => {
          const index = new WatchIndex();
          const encodings = [new JsonEvents(codec), new PlainEncoding()];
          const readers = wishes.map((one, at) => new Reader(encodings[at % 2]!, ...one));
          for (const reader of readers) index.join(reader);
          const events = states.map((state, at) => {
            const before = states
              .slice(0, at)
              .findLast(({ namespace, name }) => namespace === state.namespace && name === state.name);
            return change(10 + at, at % 5 === 4 && before ? undefined : state, before);
          });
          const want = readers.map(() => '');
          for (const [at, event] of events.entries()) {
            for (const [i, reader] of readers.entries()) {
              const type = index.members().includes(reader) && reader.selection.typeOf(event);
              if (type)
                want[i] += String(reader.encoding.frame(type, type === 'DELETED' ? event.gone : event.current!));
            }
            index.publish([event], event.revision);
            const leaver = readers[gone[at] ?? -1];
            if (leaver) index.leave(leaver);
          }
          expect(readers.map(({ buffers }) => buffers.map(String).join(''))).toEqual(want);
          for (const reader of readers) index.leave(reader);
          expect([index.size, index.members()]).toEqual([0, []]);
        },
      ),
      { numRuns: 150 },
    );
  });
});
