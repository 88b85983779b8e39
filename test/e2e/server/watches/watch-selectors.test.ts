/** Who watches a part gets that part: what enters, changes and leaves it, and nothing of the others'. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../src/api/index.ts';
import type { ApiClient, StreamEvent } from '../../../../src/testing/index.ts';
import { randomFrom } from '../../../support/random.ts';
import { type Change, changesOf, dataOf, onEveryGround } from '../../../support/server/grounds.ts';
import { CONFIG_MAPS, writeLast } from '../../../support/server/writers.ts';

const COLORS = ['red', 'blue', 'green', undefined];
const PODS = '/api/v1/namespaces/default/pods';

type Part = { readonly query: Record<string, string>; readonly has: (object: KubeObject) => boolean };

const colorOf = ({ metadata }: KubeObject) => metadata.labels?.color;
const parts: Part[] = [
  { query: { labelSelector: 'color=red' }, has: (object) => colorOf(object) === 'red' },
  { query: { labelSelector: 'color!=red' }, has: (object) => colorOf(object) !== 'red' },
  { query: { labelSelector: '!color' }, has: (object) => colorOf(object) === undefined },
  {
    query: { labelSelector: 'color in (red,blue),color' },
    has: (object) => ['red', 'blue'].includes(colorOf(object) ?? ''),
  },
  { query: { fieldSelector: 'metadata.name=object-3' }, has: ({ metadata }) => metadata.name === 'object-3' },
  {
    query: { labelSelector: 'color=green', fieldSelector: 'metadata.name!=object-1' },
    has: (object) => colorOf(object) === 'green' && object.metadata.name !== 'object-1',
  },
];

onEveryGround((ground) => {
  it('objects enter and leave a selection as the history says, while many write', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    const start = (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const readers = parts.flatMap(({ query }) =>
      [false, true].map((isBrokenOff) => readPart(client, start, query, isBrokenOff)),
    );
    await Promise.all(Array.from({ length: 6 }, (_, writer) => paint(client, randomFrom(writer), 120)));
    // One for each part: it must fit all of them, and only its color can.
    for (const color of COLORS) await client.create(CONFIG_MAPS, colored(`the-last-${color ?? 'none'}`, color, ''));
    await client.delete(`${CONFIG_MAPS}/object-3`).catch(() => {});
    await client.create(CONFIG_MAPS, { metadata: { name: 'object-3', annotations: { last: 'true' } } });
    await client.delete(`${CONFIG_MAPS}/object-3`);
    const seen = await Promise.all(readers);
    const changes = await changesOf(ground, server, 'configmaps', start);
    for (const [i, { has }] of parts.entries()) {
      const want = expected(changes, has);
      for (const events of seen.slice(2 * i, 2 * i + 2)) expect(events).toEqual(want.slice(0, events.length));
      expect(want.length - seen[2 * i]!.length).toBeLessThan(6); // the last ones of other colors
      expect(want.length).toBeGreaterThan(20);
    }
  }, 60_000);

  it('500 watchers pinned to a node get the pods of their node, each exactly its own', async () => {
    await using server = await ground.open({ maxMutatingRequestsInflight: 0 });
    const client = server.connect({ protocol: 'http2' });
    const nodes = Array.from({ length: 500 }, (_, i) => `node-${i}`);
    const watches = await Promise.all(
      nodes.map((node) => client.watch(PODS, { resourceVersion: '0', fieldSelector: `spec.nodeName=${node}` })),
    );
    const podsOf = (i: number) => (i % 7 === 0 ? 0 : i % 3); // some get none: the last pod alone ends their wait
    const made = nodes.flatMap((node, i) =>
      Array.from({ length: podsOf(i) }, (_, n) => client.create(PODS, podOn(node, `${node}-${n}`))),
    );
    await Promise.all(made);
    await Promise.all(nodes.map((node) => client.create(PODS, podOn(node, `last-on-${node}`))));
    const seen = await Promise.all(watches.map((watch) => watch.until(isLast)));
    for (const [i, events] of seen.entries()) {
      expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`).sort()).toEqual([
        `ADDED last-on-node-${i}`,
        ...Array.from({ length: podsOf(i) }, (_, n) => `ADDED node-${i}-${n}`),
      ]);
    }
  }, 60_000);

  it('1,000 watchers of one namespace all get all of it and nothing of another', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    const elsewhere = '/api/v1/namespaces/kube-public/configmaps';
    const opening = Array.from({ length: 1000 }, () => client.watch(CONFIG_MAPS, { resourceVersion: '0' }));
    const watches = await Promise.all(opening);
    const write = async (i: number) => {
      await client.create(CONFIG_MAPS, colored(`object-${i}`, 'red', String(i)));
      await client.create(elsewhere, colored(`object-${i}`, 'red', String(i)));
    };
    for (let i = 0; i < 40; i += 10) await Promise.all(Array.from({ length: 10 }, (_, n) => write(i + n)));
    await writeLast(client);
    const seen = await Promise.all(watches.map((watch) => watch.until(isLast)));
    const [first] = seen.map((events) => events.map(shown));
    expect(first).toHaveLength(41);
    for (const events of seen) expect(events.map(shown)).toEqual(first);
    expect(first!.every((line) => line.includes(' default/'))).toBe(true);
  }, 60_000);
});

const isLast = ({ object }: StreamEvent) =>
  object.metadata.name!.includes('last') || object.metadata.annotations?.last !== undefined;

function shown({ type, object }: StreamEvent): string {
  const { namespace, name, resourceVersion } = object.metadata;
  return `${type} ${namespace}/${name} ${resourceVersion} ${dataOf(object)}`;
}

/** With `isBrokenOff` each connection reads a handful and the next goes on after them. */
async function readPart(client: ApiClient, start: string, query: Record<string, string>, isBrokenOff: boolean) {
  const lines: string[] = [];
  for (let version = start; ; ) {
    await using watch = await client.watch(CONFIG_MAPS, { ...query, resourceVersion: version });
    for (let left = isBrokenOff ? 5 : Number.POSITIVE_INFINITY; left > 0; left--) {
      const [event] = await watch.take(1);
      lines.push(shown(event!));
      version = event!.object.metadata.resourceVersion!;
      if (isLast(event!)) return lines;
    }
  }
}

/** What a watcher of a part must be told: of what leaves it, how it last was, under the version of the change. */
function expected(changes: readonly Change[], has: (object: KubeObject) => boolean): string[] {
  const before = new Map<string, KubeObject>();
  const lines: string[] = [];
  for (const { key, revision, object } of changes) {
    const old = before.get(key);
    const wasIn = old !== undefined && has(old);
    const isIn = object !== undefined && has(object);
    if (isIn) lines.push(`${wasIn ? 'MODIFIED' : 'ADDED'} ${key} ${revision} ${dataOf(object)}`);
    else if (wasIn) lines.push(`DELETED ${key} ${revision} ${dataOf(old)}`);
    if (object) before.set(key, object);
    else before.delete(key);
  }
  return lines;
}

/** Changes the colors of a few objects at random; some come and go. */
async function paint(client: ApiClient, random: () => number, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const name = `object-${Math.floor(random() * 8)}`;
    const color = COLORS[Math.floor(random() * COLORS.length)];
    const patch = { metadata: { labels: { color: color ?? null } }, data: { value: `${random()}` } };
    const change =
      random() < 0.15 ? client.delete(`${CONFIG_MAPS}/${name}`) : client.patch(`${CONFIG_MAPS}/${name}`, patch);
    await change.catch(() => client.create(CONFIG_MAPS, colored(name, color, `${random()}`))).catch(() => {});
  }
}

function colored(name: string, color: string | undefined, value: string) {
  return { metadata: { name, ...(color && { labels: { color } }) }, data: { value } };
}

function podOn(nodeName: string, name: string) {
  return { metadata: { name }, spec: { nodeName, containers: [{ name: 'main', image: 'example.com/image' }] } };
}
