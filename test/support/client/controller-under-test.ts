/** A custom kind with a controller's usual duties: children by owner reference, a status, a finalizer. */
import {
  type ApiObject,
  defineResource,
  type KubeClient,
  keyOf,
  mergePatch,
  type Resource,
} from '../../../src/client/index.ts';
import { customResourceDefinitions } from '../../../src/client/objects/generated/apiextensions-v1.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import type { WorkOutcome } from '../../../src/controller/advanced.ts';
import {
  type ControllerDefinition,
  type ControllerOptions,
  defineController,
  isControlledBy,
  type ManagerOptions,
  type ReconcileContext,
  setControllerReference,
  withFinalizer,
} from '../../../src/controller/index.ts';

export type WebsiteSpec = { copies: number; text: string };
export type Website = ApiObject<WebsiteSpec, { copies?: number }>;

const names = { plural: 'websites', singular: 'website', kind: 'Website', listKind: 'WebsiteList' };
export const websites: Resource<Website> = defineResource<WebsiteSpec, { copies?: number }>({
  group: 'ex.io',
  version: 'v1',
  isNamespaced: true,
  ...names,
});

/** Resolves when the server serves it. */
export async function installWebsites(client: KubeClient): Promise<void> {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema },
    subresources: { status: {} },
  };
  const spec = { group: 'ex.io', scope: 'Namespaced' as const, names, versions: [version] };
  await client.resource(customResourceDefinitions).create({ metadata: { name: 'websites.ex.io' }, spec });
  for (;;) {
    try {
      await client.resource(websites).list();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Fast enough for tests; otherwise what everybody has. */
export const fast = {
  informers: { reflector: { backoff: { minMs: 1, maxMs: 20 } } },
  onError: () => {},
  logger: false,
} satisfies Partial<ManagerOptions>;

export const fastRetries = { retries: { baseDelayMs: 1, maxDelayMs: 20, perSecond: Number.POSITIVE_INFINITY } };

/** Keeps `copies` ConfigMaps named `<name>-<number>` with the text of its website, and takes them away with it. */
export function websiteController(options: Partial<ControllerOptions> = {}): ControllerDefinition<Website> {
  return defineController({
    name: 'websites',
    queue: fastRetries,
    ...options,
    for: websites,
    owns: [configMaps],
    async reconcile(website, context) {
      if (!website) return undefined;
      return withFinalizer(context.client.resource(websites), website, {
        finalizer: 'ex.io/copies',
        apply: (object) => keepCopies(object, context),
        cleanup: async () => {
          for (const map of copiesOf(website, context)) await remove(map, context);
        },
      });
    },
  });
}

async function keepCopies(website: Website, context: ReconcileContext): Promise<void> {
  const { client } = context;
  const maps = client.resource(configMaps);
  const wanted = new Set(Array.from({ length: website.spec.copies }, (_, n) => `${website.metadata.name}-${n}`));
  const found = new Map(copiesOf(website, context).map((map) => [map.metadata.name, map]));
  for (const [name, map] of found) if (!wanted.has(name)) await remove(map, context);
  const data = { text: website.spec.text };
  for (const name of wanted) {
    const map = found.get(name);
    if (!map) await maps.create(setControllerReference(website, { metadata: { name, ...spaceOf(website) }, data }));
    else if (map.data?.text !== data.text) await maps.patch(name, mergePatch({ data }));
  }
  if (website.status?.copies !== wanted.size)
    await client
      .resource(websites)
      .status.patch(website.metadata.name, mergePatch({ status: { copies: wanted.size } }));
}

function spaceOf({ metadata: { namespace = '' } }: Website): { namespace: string } {
  return { namespace };
}

function copiesOf(website: Website, { cache, namespace }: ReconcileContext): ConfigMap[] {
  return cache
    .of(configMaps)
    .list({ namespace })
    .filter((map) => isControlledBy(map, website));
}

async function remove({ metadata: { name, uid } }: ConfigMap, { client }: ReconcileContext): Promise<void> {
  await client.resource(configMaps).delete(name, { preconditions: { uid } });
}

/** What there is, as `ns/name: text` lines, beside what there should be. */
export async function copiesAndWishes(client: KubeClient): Promise<{ found: string[]; wanted: string[] }> {
  const sites = (await client.resource(websites).list({ allNamespaces: true })).items;
  const maps = (await client.resource(configMaps).list({ allNamespaces: true })).items;
  const owned = maps.filter(({ metadata }) => metadata.ownerReferences?.some(({ kind }) => kind === 'Website'));
  const wanted = sites.flatMap(({ metadata, spec }) =>
    Array.from({ length: spec.copies }, (_, n) => `${metadata.namespace}/${metadata.name}-${n}: ${spec.text}`),
  );
  return { found: owned.map((map) => `${keyOf(map)}: ${map.data?.text}`).sort(), wanted: wanted.sort() };
}

/** What a controller was asked to do, in order. */
export class Diary {
  readonly entries: { key: string; causes: readonly string[]; isThere: boolean; attempt: number; priority: number }[] =
    [];
  readonly outcomes: WorkOutcome<string>[] = [];

  readonly observer = {
    onReconcile: (_name: string, outcome: WorkOutcome<string>) => void this.outcomes.push(outcome),
  };

  note(object: object | undefined, { key, causes, attempt, priority }: ReconcileContext): void {
    this.entries.push({ key, causes, isThere: object !== undefined, attempt, priority });
  }

  /** All causes a key ever had. */
  causesOf(key: string): string[] {
    return this.entries.filter((entry) => entry.key === key).flatMap(({ causes }) => causes);
  }
}
