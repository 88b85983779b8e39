/**
 * What a simulated server holds: objects, the changes that led to them, and the name of that history. It can be copied and
 * set back, and forget its past. Whoever follows it is told every change at once, in order.
 */
import { simStatus } from './sim-line.ts';

export type SimObject = {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  [field: string]: unknown;
};

export type SimChange = {
  readonly revision: number;
  readonly at: string;
  readonly old?: SimObject;
  readonly now?: SimObject;
};

/** A refusal, with its status as the API has it. */
export class SimRefusal extends Error {
  readonly code: number;
  readonly status: object;
  constructor(code: number, cause?: string) {
    super(`refused: ${cause ?? code}`);
    this.code = code;
    this.status = simStatus(code, cause);
  }
}

export type SimCopy = Pick<SimStore, 'clusterUid' | 'revision' | 'compacted'> & {
  readonly objects: ReadonlyMap<string, SimObject>;
  readonly log: readonly SimChange[];
};

const KINDS: Readonly<Record<string, readonly [kind: string, apiVersion: string]>> = {
  configmaps: ['ConfigMap', 'v1'],
  namespaces: ['Namespace', 'v1'],
  leases: ['Lease', 'coordination.k8s.io/v1'],
  events: ['Event', 'events.k8s.io/v1'],
};

export class SimStore {
  /** Another one for each history. */
  readonly name: string;
  readonly clusterUid: string;
  readonly objects: Map<string, SimObject>;
  readonly log: SimChange[];
  /** Versions before it are gone. */
  compacted: number;
  revision: number;
  readonly #newId: () => number;
  readonly #followers = new Set<(change: SimChange) => void>();

  /** `newId`: of its world, so that the same world has the same ids wherever it is. */
  constructor(from: SimCopy | { readonly revision: number }, newId: () => number) {
    const copy = 'objects' in from ? from : undefined;
    this.#newId = newId;
    this.name = `history-${newId()}`;
    this.revision = from.revision;
    this.clusterUid = copy?.clusterUid ?? `cluster-${newId()}`;
    this.objects = new Map(copy?.objects);
    this.log = [...(copy?.log ?? [])];
    this.compacted = copy?.compacted ?? from.revision;
    const metadata = { name: 'kube-system', uid: this.clusterUid, resourceVersion: String(this.revision) };
    if (!copy) this.objects.set('namespaces//kube-system', { apiVersion: 'v1', kind: 'Namespace', metadata });
  }

  copy(): SimCopy {
    const { clusterUid, revision, compacted, objects, log } = this;
    return { clusterUid, revision, compacted, objects: new Map(objects), log: [...log] };
  }

  forgetPast(): void {
    this.compacted = this.revision;
    this.log.length = 0;
  }

  follow(tell: (change: SimChange) => void, signal: AbortSignal): void {
    this.#followers.add(tell);
    signal.addEventListener('abort', () => this.#followers.delete(tell), { once: true });
  }

  list(plural: string, namespace: string | undefined): SimObject[] {
    const start = namespace === undefined ? `${plural}/` : `${plural}/${namespace}/`;
    return [...this.objects]
      .filter(([at]) => at.startsWith(start))
      .sort(byKey)
      .map(([, object]) => object);
  }

  get(at: string): SimObject {
    const object = this.objects.get(at);
    if (!object) throw new SimRefusal(404);
    return object;
  }

  create(plural: string, namespace: string | undefined, draft: SimObject): SimObject {
    const { name } = draft.metadata;
    const at = `${plural}/${namespace ?? ''}/${name}`;
    if (this.objects.has(at)) throw new SimRefusal(409);
    const [kind, apiVersion] = KINDS[plural] ?? ['Thing', 'v1'];
    const metadata = { ...draft.metadata, ...(namespace && { namespace }), uid: `uid-${this.#newId()}` };
    return this.#put(at, { apiVersion, kind, ...draft, metadata: { ...metadata, resourceVersion: '' } });
  }

  /** Refused if it is of another version than the one it was made from. */
  replace(at: string, object: SimObject): SimObject {
    const old = this.get(at);
    const { resourceVersion } = object.metadata;
    if (resourceVersion && resourceVersion !== old.metadata.resourceVersion) throw new SimRefusal(409);
    const { uid, namespace } = old.metadata;
    return this.#put(at, { ...object, metadata: { ...object.metadata, uid, ...(namespace && { namespace }) } });
  }

  patch(at: string, patch: object): SimObject {
    return this.#put(at, merged(this.get(at), patch) as SimObject);
  }

  remove(at: string): SimObject {
    const old = this.get(at);
    const revision = ++this.revision;
    const now = { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } };
    this.objects.delete(at);
    this.#tell({ revision, at, old: now });
    return now;
  }

  #put(at: string, object: SimObject): SimObject {
    const revision = ++this.revision;
    const now = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    const old = this.objects.get(at);
    this.objects.set(at, now);
    this.#tell({ revision, at, now, ...(old && { old }) });
    return now;
  }

  #tell(change: SimChange): void {
    this.log.push(change);
    for (const tell of [...this.#followers]) tell(change);
  }
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function merged(value: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const whole: Record<string, unknown> = { ...(value as Record<string, unknown> | undefined) };
  for (const [name, part] of Object.entries(patch))
    if (part === null) delete whole[name];
    else whole[name] = merged(whole[name], part);
  return whole;
}
