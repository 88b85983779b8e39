import { afterEach, expect, it, vi } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { isStatusError, type KubeObject } from '../../../api/index.ts';
import { isStoreError } from '../../../store/index.ts';
import { JsonEvents } from '../../encodings/json-events.ts';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import type { ObjectWatch } from '../object-watch.ts';
import { ObjectCodec } from '../objects/object-codec.ts';
import { ObjectKeys } from '../objects/object-keys.ts';
import { Selection } from '../objects/selection.ts';
import { StreamClient } from '../stream-client.testing.ts';
import { type LiveItem, LiveStorage } from './live-storage.ts';

const signal = new AbortController().signal;
const NEWEST = { scope: '', start: '', at: { resourceVersion: '' }, signal };
const resource = new Registry().find('', 'v1', 'nodes')!;

/** What there is, by name; the value is what its objects show. */
const things = new Map<string, string>();
let storage: LiveStorage;
let looks = 0;
const news = new Map<string, string>();

function open(): LiveStorage {
  things.clear();
  news.clear();
  looks = 0;
  storage = new LiveStorage({
    codec: new ObjectCodec(resource, factsOf(resource)),
    keys: new ObjectKeys('/registry/things/', false),
    source: {
      *items(): Generator<LiveItem> {
        looks++;
        for (const [name, value] of things) {
          const object: KubeObject = {
            kind: 'Node',
            apiVersion: 'v1',
            metadata: { name, uid: name, labels: { value } },
          };
          const told = news.get(name);
          yield { object, ...(told !== undefined && { news: told }) };
        }
      },
      remove: (name) => things.delete(name),
    },
  });
  return storage;
}
afterEach(async () => {
  vi.useRealTimers();
  await storage.close();
});

async function names(): Promise<string[]> {
  return (await storage.list(NEWEST)).objects.map(({ name, labels }) => `${name}=${labels!.value}`);
}

type Asked = { from?: string; initial?: boolean; isMetadataOnly?: boolean; client?: StreamClient };

async function watch({ from = '', initial = false, isMetadataOnly = false, client = new StreamClient() }: Asked = {}) {
  const encoding = Object.assign(new JsonEvents(storage.codec), { isMetadataOnly });
  let opened: ObjectWatch | undefined;
  const done = new Promise<void>((resolve, reject) => {
    storage
      .watch({
        selection: new Selection({}),
        encoding,
        resourceVersion: from,
        sendsInitialEvents: initial,
        allowsBookmarks: true,
        client: { signal, stream: () => client, initialised: () => {} },
        onOpen: (one) => {
          opened = one;
        },
      })
      .then(resolve, reject);
  });
  await eventually(() => expect(opened?.isLive || client.ends > 0).toBe(true));
  return { client, watch: opened!, done };
}

/** `ADDED a` without versions. */
const told = ({ events }: StreamClient) => events.map((event) => event.replace(/@\d+/, '').replace('undefined/', ''));

it('is listed in order, as it is at that moment', async () => {
  open();
  things.set('b', '1').set('a', '1');
  expect(await names()).toEqual(['a=1', 'b=1']);
  things.set('a', '2').delete('b');
  expect(await names()).toEqual(['a=2']);
  expect(storage.peek('', 'a')?.name).toBe('a');
  expect(await storage.get('', 'b')).toBeUndefined();
});

it('those who ask at the same time share a look that began after they asked', async () => {
  open();
  things.set('a', '1');
  const first = names();
  const others = [names(), names(), names()];
  things.set('a', '2');
  expect(await Promise.all([first, ...others])).toEqual([['a=2'], ['a=2'], ['a=2'], ['a=2']]);
  expect(looks).toBe(1);
});

it('a watch is told of what comes, changes and goes, from the version of a list on', async () => {
  open();
  things.set('a', '1');
  const { revision } = await storage.list(NEWEST);
  things.set('b', '1');
  const { client, watch: one, done } = await watch({ from: String(revision) });
  expect(told(client)).toEqual(['ADDED b']);
  things.set('a', '2').delete('b');
  await storage.look();
  await eventually(() => expect(told(client)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b']));
  expect(one.report()).toMatchObject({ eventsSent: 3, bookmarksSent: 0 });
  one.end('client-left');
  await done;
});

it('a watch that begins with the state is told where that ends', async () => {
  open();
  things.set('a', '1');
  const { client } = await watch({ initial: true });
  expect(told(client)).toEqual(['ADDED a', 'BOOKMARK  end']);
});

it('what is no news is shown by the next read, and told to nobody', async () => {
  open();
  things.set('a', '1');
  news.set('a', 'live');
  const { client } = await watch();
  const { revision } = storage;
  things.set('a', '2');
  expect(await names()).toEqual(['a=2']);
  expect(storage.revision).toBe(revision);
  news.set('a', 'behind');
  things.set('a', '3');
  await storage.look();
  await eventually(() => expect(told(client)).toEqual(['MODIFIED a']));
});

it('who watches metadata only is told of what comes and goes', async () => {
  open();
  things.set('a', '1');
  const { client } = await watch({ isMetadataOnly: true });
  things.set('a', '2');
  await storage.look();
  things.set('b', '1').delete('a');
  await storage.look();
  await eventually(() => expect(told(client)).toEqual(['ADDED b', 'DELETED a']));
});

it('looks by itself while somebody watches, and only then', async () => {
  vi.useFakeTimers();
  open();
  things.set('a', '1');
  const client = new StreamClient();
  const opening = watch({ client });
  await vi.advanceTimersByTimeAsync(100);
  const { watch: one } = await opening;
  things.set('a', '2');
  await vi.advanceTimersByTimeAsync(1100);
  expect(told(client)).toEqual(['MODIFIED a']);
  one.end('client-left');
  const before = looks;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(looks).toBe(before);
});

it('what was seen is forgotten after a while: a watch from then is told 410', async () => {
  vi.useFakeTimers();
  open();
  things.set('a', '1');
  const { revision } = await storage.list(NEWEST);
  await vi.advanceTimersByTimeAsync(70_000);
  expect(storage.stats).toBe('filling');
  const client = new StreamClient();
  const opening = watch({ from: String(revision), client });
  await vi.advanceTimersByTimeAsync(100);
  const { watch: one } = await opening;
  expect(client.events[0]).toMatch(/^ERROR too old resource version/);
  expect(one.report().state).toBe('ended');
});

it('a version of the future, of another process perhaps, is answered 410', async () => {
  open();
  const { client } = await watch({ from: String(Date.now() + 1e9) });
  expect(client.events[0]).toMatch(/^ERROR too old resource version/);
});

it('pages of a list are of one state', async () => {
  open();
  for (const name of ['a', 'b', 'c']) things.set(name, '1');
  const page = await storage.list({ ...NEWEST, limit: 2 });
  expect(page.objects.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(page.count).toBe(3);
  things.set('c', '2');
  await storage.look();
  const at = { revision: page.revision };
  const rest = await storage.list({ ...NEWEST, at, start: 'b\0', limit: 2 });
  expect(rest.objects.map(({ labels }) => labels!.value)).toEqual(['1']);
  const failure = storage.list({ ...NEWEST, at: { revision: 1 } });
  await expect(failure).rejects.toSatisfy((err) => isStoreError(err, 'Compacted'));
});

it('what is deleted is removed from where it came; nothing else can be written', async () => {
  open();
  things.set('a', '1');
  const found = await storage.get('', 'a');
  expect(await storage.delete(found!)).toMatchObject({ deleted: { name: 'a' } });
  expect(things.size).toBe(0);
  expect(await storage.delete(found!)).toEqual({ instead: undefined });
  const refused = (err: unknown) => isStatusError(err, 'MethodNotAllowed');
  await expect(storage.create()).rejects.toSatisfy(refused);
  await expect(storage.update()).rejects.toSatisfy(refused);
});

it('a client that has left before its watch is made is no fault', async () => {
  open();
  const client = new StreamClient();
  client.end('client-left');
  const { done } = await watch({ client });
  await done;
  expect(storage.watches.size).toBe(0);
});

it('has nothing at hand that is as new as a read without a version demands', async () => {
  open();
  things.set('a', '1');
  expect(await names()).toEqual(['a=1']);
  const seen = storage.peek('', 'a')!;
  expect(seen.labels).toEqual({ value: '1' });
  expect(storage.peek('', 'a', String(storage.revision))).toBe(seen);
  expect(storage.peek('', 'a', String(storage.revision + 1))).toBeUndefined();
  things.set('a', '2');
  expect(storage.peek('', 'a', '')).toBeUndefined();
  expect((await storage.get('', 'a'))!.labels).toEqual({ value: '2' });
});
