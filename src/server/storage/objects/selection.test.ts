import { describe, expect, it } from 'vitest';
import { parseFieldSelector, parseLabelSelector } from '../../../api/index.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import { ObjectCodec } from './object-codec.ts';
import { ObjectEvent } from './object-event.ts';
import { type EventType, Selection } from './selection.ts';
import type { StoredObject } from './stored-object.ts';

const pods = new Registry().find('', 'v1', 'pods')!;
const codec = new ObjectCodec(pods, factsOf(pods));

type PodParts = { namespace?: string; name?: string; labels?: Record<string, string>; node?: string };

function pod({ namespace = 'ns', name = 'a', labels = {}, node = '' }: PodParts = {}): StoredObject {
  const metadata = { name, namespace, uid: 'u', labels };
  const stored = codec.encode({ ...codec.type, metadata, spec: { ...(node && { nodeName: node }) } });
  return codec.decode(namespace, name, 5, stored);
}

function selecting(namespace: string, labels = '', fields = ''): Selection {
  return new Selection({ namespace, labels: parseLabelSelector(labels), fields: parseFieldSelector(fields) });
}

describe('Selection', () => {
  const red = pod({ labels: { color: 'red' } });
  const blue = pod({ labels: { color: 'blue' } });
  it.each<
    [claim: string, before: StoredObject | undefined, now: StoredObject | undefined, want: EventType | undefined]
  >([
    ['appears', undefined, red, 'ADDED'],
    ['begins to match', blue, red, 'ADDED'],
    ['changes and still matches', red, pod({ labels: { color: 'red', x: 'y' } }), 'MODIFIED'],
    ['ceases to match', red, blue, 'DELETED'],
    ['is deleted', red, undefined, 'DELETED'],
    ['appears without matching', undefined, blue, undefined],
    ['changes without ever matching', blue, pod(), undefined],
    ['is deleted without having matched', blue, undefined, undefined],
  ])('tells of an object that %s', (_claim, before, now, want) => {
    expect(selecting('', 'color=red').typeOf(new ObjectEvent(9, now, before, 0))).toBe(want);
  });

  it.each<[namespace: string, labels: string, fields: string, object: PodParts, want: boolean]>([
    ['', '', '', {}, true],
    ['ns', '', '', {}, true],
    ['other', '', '', {}, false],
    ['', '', 'metadata.name=a', {}, true],
    ['', '', 'metadata.name=b', {}, false],
    ['ns', '', 'metadata.name=a', {}, true],
    ['other', '', 'metadata.name=a', {}, false],
    ['', '', 'metadata.namespace=ns', {}, true],
    ['', '', 'metadata.namespace=other', {}, false],
    ['ns', '', 'metadata.namespace=other', {}, false],
    ['other', '', 'metadata.namespace=ns', {}, false],
    ['', '', 'metadata.namespace!=ns', {}, false],
    ['', '', 'metadata.name=a,metadata.name=b', {}, false],
    ['', '', 'metadata.name=b,metadata.name=a', {}, false],
    ['', '', 'metadata.name=a,metadata.name!=a', {}, false],
    ['', '', 'metadata.name=', {}, false],
    ['', '', 'metadata.name!=', {}, true],
    ['', '', 'metadata.name!=b', {}, true],
    ['', '', 'spec.nodeName=n1', { node: 'n1' }, true],
    ['', '', 'spec.nodeName=', { node: 'n1' }, false],
    ['', '', 'spec.nodeName=', {}, true],
    ['', '', 'spec.nodeName=n1,spec.nodeName=n2', { node: 'n2' }, false],
    ['', 'a', '', { labels: { a: '' } }, true],
    ['', 'a', 'spec.nodeName=n1', { labels: { a: '' }, node: 'n2' }, false],
    ['', '!a', '', {}, true],
  ])('in namespace "%s", labels "%s", fields "%s", judges an object', (namespace, labels, fields, object, want) => {
    expect(selecting(namespace, labels, fields).matches(pod(object))).toBe(want);
  });

  it('has one id for one wish, however it is written, and another for another', () => {
    const same = [selecting('ns', 'a=b,c', 'x=1,y=2').id, selecting('ns', 'c,a in (b)', 'y==2,x=1').id];
    expect(new Set(same).size).toBe(1);
    const all = ['', 'ns'].flatMap((namespace) =>
      ['', 'a', '!a', 'a=b', 'a!=b', 'a in (b,c)'].flatMap((labels) =>
        ['', 'x=1', 'x!=1', 'x=1,y=1', 'x=1\\,y\\=1'].map((fields) => selecting(namespace, labels, fields).id),
      ),
    );
    expect(new Set(all).size).toBe(all.length);
  });

  it.each<[namespace: string, labels: string, fields: string, scopeOnly: boolean, selective: boolean]>([
    ['', '', '', true, false],
    ['ns', '', '', true, false],
    ['ns', '', 'metadata.name=a', true, true],
    ['', '', 'metadata.name=a,metadata.name=a', false, true],
    ['', '', 'metadata.namespace=ns', false, true],
    ['', '', 'metadata.name=', false, true],
    ['', 'a', '', false, true],
    ['', '', 'spec.nodeName=n', false, true],
  ])(
    'in namespace "%s", labels "%s", fields "%s" knows what must be looked at',
    (namespace, labels, fields, scopeOnly, selective) => {
      const selection = selecting(namespace, labels, fields);
      expect([selection.isScopeOnly, selection.isSelective]).toEqual([scopeOnly, selective]);
    },
  );
});
