/**
 * Many objects at once, as `kubectl apply` does it and a little more: in an order in which each finds what it needs, waiting
 * for what has to be ready, and without those that an earlier call made and this one does not name any more.
 *
 *     for (const { kind, name, action } of (await applyAll(client, yaml, { owner: 'shop' })).objects) ...
 *
 * Objects are applied by the server (`owner` is the field manager, and a label of each object), so again is the same as once
 * and fields of others stay. Pruned is only what carries the label of this owner, and only of kinds that this call or an
 * earlier one has applied: those are remembered in a ConfigMap of the owner. The first refusal ends it, with what was done
 * until then in `ApplyAllError.objects`.
 */
import { isApiError } from '../errors.ts';
import type { KubeClient } from '../kube-client.ts';
import type { Resource } from '../objects/define-resource.ts';
import { configMaps } from '../objects/generated/core-v1.ts';
import type { DynamicObject } from '../objects/objects.ts';
import { resourceName } from '../objects/resource-name.ts';
import { type Manifest, manifestsIn, readManifests } from './read-manifests.ts';
import { isReady, orderOf } from './readiness.ts';

export type AppliedObject = {
  readonly apiVersion: string;
  readonly kind: string;
  /** Empty for what is cluster-wide. */
  readonly namespace: string;
  readonly name: string;
  readonly action: 'created' | 'configured' | 'unchanged' | 'pruned';
};

export type ApplyProgress = AppliedObject & { readonly done: number; readonly total: number };

export type ApplyAllOptions = {
  /** Whose objects they are: the field manager, and the value of the label. */
  readonly owner: string;
  /** Of objects that name none, and of the owner's own ConfigMap: that of the client. */
  readonly namespace?: string | undefined;
  /** Deletes what this owner has applied before and does not name now: true. */
  readonly prune?: boolean | undefined;
  /** Waits until what was applied is ready: Deployments, Jobs, definitions, ...: true. */
  readonly wait?: boolean | undefined;
  /** For all waiting together: 5 min. */
  readonly timeoutMs?: number | undefined;
  /** Takes over fields that others own: true, as one who says how all of it is to be. */
  readonly force?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ApplyProgress) => void) | undefined;
};

export type ApplyAllResult = { readonly objects: readonly AppliedObject[] };

export class ApplyAllError extends Error {
  override readonly name = 'ApplyAllError';
  /** What was done before. */
  readonly objects: readonly AppliedObject[];

  constructor(message: string, objects: readonly AppliedObject[], options: ErrorOptions) {
    super(message, options);
    this.objects = objects;
  }
}

const OWNER_LABEL = 'apply.longwatch.dev/owner';
const ASK_AGAIN_MS = 200;
const FIND_MS = 15_000;

/** Text in YAML or JSON, or objects. */
export async function applyAll(
  client: KubeClient,
  manifests: string | readonly object[],
  options: ApplyAllOptions,
): Promise<ApplyAllResult> {
  const list =
    typeof manifests === 'string'
      ? await readManifests(manifests)
      : manifests.flatMap((one, index) => manifestsIn(one, `object ${index + 1}`));
  return new Application(client, options).run(list);
}

type Target = { readonly resource: Resource<DynamicObject>; readonly namespace: string; readonly manifest: Manifest };

class Application {
  readonly #client: KubeClient;
  readonly #options: ApplyAllOptions;
  readonly #namespace: string;
  readonly #done: AppliedObject[] = [];
  readonly #until: number;

  constructor(client: KubeClient, options: ApplyAllOptions) {
    this.#client = client;
    this.#options = options;
    this.#namespace = options.namespace ?? client.namespace;
    this.#until = client.transport.clock.now() + (options.timeoutMs ?? 300_000);
  }

  async run(manifests: readonly Manifest[]): Promise<ApplyAllResult> {
    const { prune = true, wait = true, dryRun = false } = this.#options;
    const sorted = manifests
      .map((manifest, index) => ({ manifest, index }))
      .sort((a, b) => orderOf(a.manifest) - orderOf(b.manifest) || a.index - b.index);
    const remembered = prune ? await this.#remembered() : [];
    const wanted = [...new Set(manifests.map(kindOf))];
    // Before anything is there: what a call that breaks off has made is found by the next.
    if (prune && !dryRun) await this.#remember([...remembered, ...wanted]).catch(unlessMissing);
    const targets: Target[] = [];
    let action = 'apply';
    let at: { kind: string; metadata: { name?: string } } | undefined;
    try {
      for (const { manifest } of sorted) {
        at = manifest;
        const target = await this.#find(manifest);
        targets.push(target);
        await this.#apply(target, sorted.length);
        // Those that others need, at once; the rest together, at the end.
        if (!dryRun && orderOf(manifest) < 0) await this.#whenReady(target);
      }
      action = 'wait for';
      if (wait && !dryRun)
        for (const target of targets) {
          at = target.manifest;
          await this.#whenReady(target);
        }
      action = 'prune';
      at = undefined;
      if (prune && !dryRun) {
        await this.#prune(targets, remembered);
        await this.#remember(wanted);
      }
    } catch (cause) {
      this.#options.signal?.throwIfAborted();
      const what = at ? `${at.kind} "${at.metadata.name}"` : `what "${this.#options.owner}" no longer has`;
      throw new ApplyAllError(`Cannot ${action} ${what}: ${(cause as Error).message}`, this.#done, { cause });
    }
    return { objects: this.#done };
  }

  /** A kind whose definition was applied a moment ago may not be known yet. */
  async #find(manifest: Manifest): Promise<Target> {
    const { clock } = this.#client.transport;
    const [group, version] = splitVersion(manifest.apiVersion);
    const until = clock.now() + FIND_MS;
    for (let maxAgeMs: number | undefined; ; maxAgeMs = 0) {
      const found = (await this.#client.discovery.resources(maxAgeMs)).find(
        (one) =>
          one.kind === manifest.kind && one.group === group && one.version === version && one.verbs.includes('patch'),
      );
      if (found) {
        const resource = await this.#client.discovery.find({ kind: found.kind, group, version });
        const namespace = found.isNamespaced ? (manifest.metadata.namespace ?? this.#namespace) : '';
        return { resource, namespace, manifest };
      }
      if (clock.now() >= until) throw new Error(`the server has no kind "${manifest.kind}" in ${manifest.apiVersion}`);
      await clock.sleep(ASK_AGAIN_MS, this.#options.signal);
    }
  }

  async #apply(target: Target, total: number): Promise<void> {
    const { owner, force = true, dryRun = false, signal } = this.#options;
    const { resource, namespace, manifest } = target;
    const api = this.#client.resource(resource, namespace || undefined);
    const name = manifest.metadata.name!;
    const before = await api.find(name, { signal });
    const labels = { ...manifest.metadata.labels, [OWNER_LABEL]: owner };
    const metadata = { ...manifest.metadata, name, labels, ...(namespace && { namespace }) };
    const after = await api.apply({ ...manifest, metadata } as never, { fieldManager: owner, force, dryRun, signal });
    const isSame = before?.metadata.resourceVersion === after.metadata.resourceVersion;
    this.#told(target, before ? (isSame ? 'unchanged' : 'configured') : 'created', total);
  }

  async #whenReady({ resource, namespace, manifest }: Target): Promise<void> {
    const { clock } = this.#client.transport;
    const { signal } = this.#options;
    const api = this.#client.resource(resource, namespace || undefined);
    for (;;) {
      const why = isReady(await api.get(manifest.metadata.name!, { signal }));
      if (why === undefined) return;
      if (clock.now() >= this.#until) throw new Error(`it is not ready: ${why}`);
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
  }

  /** Kinds that this owner has applied before. */
  async #remembered(): Promise<string[]> {
    const found = await this.#client.resource(configMaps, this.#namespace).find(this.#record, this.#options);
    return (found?.data?.kinds ?? '').split('\n').filter((line) => line !== '');
  }

  async #prune(targets: readonly Target[], remembered: readonly string[]): Promise<void> {
    const { owner, signal } = this.#options;
    const named = new Set(
      targets.map(({ resource, namespace, manifest }) => keyOf(resource, namespace, manifest.metadata.name!)),
    );
    const kinds = [...new Set([...targets.map(({ resource }) => kindOf(resource)), ...remembered])].sort();
    const doomed: { resource: Resource<DynamicObject>; object: DynamicObject }[] = [];
    for (const line of kinds) {
      const [apiVersion = '', kind = ''] = line.split(' ');
      const [group, version] = splitVersion(apiVersion);
      const all = await this.#client.discovery.resources();
      if (!all.some((one) => one.kind === kind && one.group === group && one.version === version)) continue;
      const resource = await this.#client.discovery.find({ kind, group, version });
      const mine = { allNamespaces: true, labelSelector: { [OWNER_LABEL]: owner }, signal };
      for await (const object of this.#client.resource(resource).listAll(mine))
        if (!named.has(keyOf(resource, object.metadata.namespace ?? '', object.metadata.name)))
          doomed.push({ resource, object });
    }
    // What others need goes last.
    doomed.sort((a, b) => orderOf(b.object) - orderOf(a.object));
    const total = targets.length + doomed.length;
    for (const { resource, object } of doomed) {
      const { name, namespace = '', uid } = object.metadata;
      await this.#client
        .resource(resource, namespace || undefined)
        .delete(name, { preconditions: { uid }, propagationPolicy: 'Background', signal })
        .catch(unlessMissing);
      this.#told({ resource, namespace, manifest: object }, 'pruned', total);
    }
  }

  async #remember(kinds: readonly string[]): Promise<void> {
    const { owner, signal } = this.#options;
    const record = { metadata: { name: this.#record }, data: { kinds: [...new Set(kinds)].sort().join('\n') } };
    await this.#client
      .resource(configMaps, this.#namespace)
      .apply(record, { fieldManager: owner, force: true, signal });
  }

  get #record(): string {
    return `applied-by-${this.#options.owner}`;
  }

  #told({ resource, namespace, manifest }: Target, action: AppliedObject['action'], total: number): void {
    const { apiVersion, kind } = resource;
    const object = { apiVersion, kind, namespace, name: manifest.metadata.name!, action };
    this.#done.push(object);
    this.#options.onProgress?.({ ...object, done: this.#done.length, total });
  }
}

function splitVersion(apiVersion: string): [group: string, version: string] {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

function kindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion} ${kind}`;
}

/** Whatever its version is. */
function keyOf(resource: Resource, namespace: string, name: string): string {
  return `${resourceName(resource)} ${namespace}/${name}`;
}

/** Of a namespace that is yet to be made, or of what has gone by itself. */
function unlessMissing(err: unknown): void {
  if (!isApiError(err, 'NotFound')) throw err;
}
