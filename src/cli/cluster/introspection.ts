/**
 * What a server of ours tells of itself, group `introspection.longwatch.dev/v1alpha1`, as types and as calls. Of any other
 * cluster the first call is refused with a sentence that says so.
 */
import { isApiError, type KubeClient } from '../../client/index.ts';
import { VerbError } from '../terminal/run-verb.ts';

const ROOT = '/apis/introspection.longwatch.dev/v1alpha1';

type Meta = { readonly name: string; readonly creationTimestamp?: string };

export type WatchInfo = {
  readonly metadata: Meta;
  readonly spec: {
    readonly user: string;
    readonly userAgent?: string;
    readonly address?: string;
    readonly group: string;
    readonly resource: string;
    readonly namespace?: string;
    readonly labelSelector?: string;
    readonly fieldSelector?: string;
  };
  readonly status: {
    readonly state: string;
    readonly lastRevision: number;
    readonly behind: { readonly revisions: number; readonly bytes: number; readonly seconds: number };
    readonly eventsSent: number;
    readonly bytesSent: number;
    readonly bookmarksSent: number;
  };
};

export type WatchCacheInfo = {
  readonly metadata: Meta;
  readonly status: {
    readonly objects: number;
    readonly revision: number;
    readonly window: { readonly seconds?: number; readonly events: number; readonly capacity: number };
    readonly eventsPerSecond: number;
    readonly eventsReceived: number;
    readonly eventsDispatched: number;
    readonly watchers: number;
    readonly watchersBehind: number;
    readonly expired: number;
    readonly memoryBytes: number;
  };
};

export type ExpirationInfo = {
  readonly metadata: Meta;
  readonly spec: {
    readonly user: string;
    readonly userAgent?: string;
    readonly address?: string;
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    readonly namespace?: string;
  };
  readonly status: {
    readonly askedRevision: number;
    readonly oldestRevision?: number;
    readonly currentRevision?: number;
    readonly reason: string;
    readonly compactedAt?: string;
    readonly message: string;
    readonly explanation: string;
    readonly remedy: string;
  };
};

export type FlowLevelInfo = {
  readonly metadata: Meta;
  readonly status: {
    readonly seats: { readonly limit?: number; readonly inUse: number };
    readonly waiting: number;
    readonly executing: number;
    readonly dispatched: number;
    readonly rejected: number;
  };
};

export type HistoryInfo = {
  readonly metadata: Meta;
  readonly status: {
    readonly exists: boolean;
    readonly compactedRevision?: number;
    readonly isComplete: boolean;
    readonly revisions: readonly {
      readonly revision: number;
      readonly change: string;
      readonly time?: string;
      readonly manager?: string;
      readonly user?: string;
      readonly changed?: readonly string[];
      readonly changedCount?: number;
    }[];
  };
  readonly diff?: {
    readonly from: number;
    readonly to: number;
    readonly changes: readonly { readonly path: string; readonly from?: unknown; readonly to?: unknown }[];
    readonly isTruncated: boolean;
  };
  readonly object?: unknown;
};

type Lists = {
  readonly watches: WatchInfo;
  readonly watchcaches: WatchCacheInfo;
  readonly expirations: ExpirationInfo;
  readonly flowlevels: FlowLevelInfo;
};

export class Introspection {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;

  private constructor(client: KubeClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Throws the sentence if the server has no such group. */
  static async of(client: KubeClient, signal: AbortSignal): Promise<Introspection> {
    try {
      await client.transport.request('GET', ROOT, { signal });
      return new Introspection(client, signal);
    } catch (err) {
      if (!isApiError(err) || err.code !== 404) throw err;
      throw new VerbError(
        `Cannot look inside ${client.transport.access.server.host}: it does not serve introspection.longwatch.dev/v1alpha1, which only \`longwatch serve\` does`,
        '`longwatch doctor` looks at any cluster, from outside.',
        { cause: err },
      );
    }
  }

  async list<K extends keyof Lists>(resource: K): Promise<Lists[K][]> {
    const { body } = await this.#client.transport.request<{ items: Lists[K][] | null }>('GET', `${ROOT}/${resource}`, {
      signal: this.#signal,
    });
    return body.items ?? [];
  }

  async endWatch(name: string): Promise<void> {
    await this.#client.transport.request('DELETE', `${ROOT}/watches/${encodeURIComponent(name)}`, {
      signal: this.#signal,
    });
  }

  async history(
    namespace: string,
    name: string,
    query: { readonly limit?: number; readonly revision?: number; readonly diff?: string },
  ): Promise<HistoryInfo> {
    const path = `${ROOT}/namespaces/${encodeURIComponent(namespace)}/objecthistories/${encodeURIComponent(name)}`;
    const { body } = await this.#client.transport.request<HistoryInfo>('GET', path, { query, signal: this.#signal });
    return body;
  }
}

/** `deployments.apps`, `pods`. */
export function resourceOf({ group, resource }: { readonly group: string; readonly resource: string }): string {
  return group === '' ? resource : `${resource}.${group}`;
}
