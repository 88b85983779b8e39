/**
 * What a server of ours tells of itself, group `introspection.longwatch.dev/v1alpha1`, as types and as calls. Of any other
 * cluster the first call is refused with a sentence that says so.
 */
import type {
  ExpirationInfo,
  FlowLevelInfo,
  HistoryInfo,
  WatchCacheInfo,
  WatchInfo,
} from '../../api/observing/introspection-objects.ts';
import { isApiError, type KubeClient } from '../../client/index.ts';
import { VerbError } from '../terminal/run-verb.ts';

const ROOT = '/apis/introspection.longwatch.dev/v1alpha1';

export type { ExpirationInfo, FlowLevelInfo, HistoryInfo, WatchCacheInfo, WatchInfo };

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
