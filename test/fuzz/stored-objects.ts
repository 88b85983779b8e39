/**
 * What a server has stored beyond what it had at the beginning, of every kind that it serves: found by discovery, and
 * taken away again, finalizers or not, so that memory that is still held afterwards is held by nothing that is there.
 */
import type { ServerTarget } from '../support/victim/server-target.ts';

type Listed = {
  readonly metadata: { readonly namespace?: string; readonly name: string; readonly finalizers?: unknown };
};

export class StoredObjects {
  readonly #kept = new Set<string>();

  /** What is there now stays. */
  async keep(server: ServerTarget): Promise<void> {
    for await (const { path } of stored(server)) this.#kept.add(path);
  }

  async clear(server: ServerTarget): Promise<void> {
    for await (const { path, object } of stored(server)) {
      if (this.#kept.has(path)) continue;
      const { finalizers } = object.metadata;
      if (finalizers)
        await server.ask({ method: 'PATCH', path, type: MERGE, body: { metadata: { finalizers: null } } });
      await server.ask({ method: 'DELETE', path: `${path}?gracePeriodSeconds=0&propagationPolicy=Background` });
      // A claim or a volume is given its finalizer again by the deletion itself.
      if (finalizers)
        await server.ask({ method: 'PATCH', path, type: MERGE, body: { metadata: { finalizers: null } } });
    }
  }
}

const MERGE = 'application/merge-patch+json';

/** Custom kinds before their definitions, whose end would wait for them. */
async function* stored(server: ServerTarget): AsyncGenerator<{ readonly path: string; readonly object: Listed }> {
  const collections = await collectionsOf(server);
  const isDefinitions = ({ plural }: Collection) => plural === 'customresourcedefinitions';
  const inOrder = [...collections.filter((one) => !isDefinitions(one)), ...collections.filter(isDefinitions)];
  for (const { root, plural } of inOrder) {
    const { items = [] } = (await answerOf(server, `${root}/${plural}`)) as { items?: readonly Listed[] };
    for (const object of items) {
      const { namespace, name } = object.metadata;
      const scope = namespace === undefined ? root : `${root}/namespaces/${namespace}`;
      yield { path: `${scope}/${plural}/${encodeURIComponent(name)}`, object };
    }
  }
}

type Collection = { readonly root: string; readonly plural: string };

async function collectionsOf(server: ServerTarget): Promise<Collection[]> {
  const { groups } = (await answerOf(server, '/apis')) as {
    groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
  };
  const roots = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const collections: Collection[] = [];
  for (const root of roots) {
    const { resources = [] } = (await answerOf(server, root)) as {
      resources?: readonly { readonly name: string; readonly verbs: readonly string[] }[];
    };
    for (const { name, verbs } of resources)
      if (verbs.includes('list') && verbs.includes('delete')) collections.push({ root, plural: name });
  }
  return collections;
}

async function answerOf(server: ServerTarget, path: string): Promise<unknown> {
  const { status, body } = await server.ask({ path });
  return status === 200 ? JSON.parse(body.toString()) : {};
}
