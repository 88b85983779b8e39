/**
 * Aggregation: groups that other servers answer for, made known by APIServices, are served as if they were this server's
 * own.
 *
 *   APIServices ─► remote apis ─► availability (condition, 503) · discovery · proxying
 *   registry ─► own APIServices
 *
 * Always true: a server without foreign APIServices spends one look at an empty map per request.
 */
import type { Metrics } from '../metrics/metrics.ts';
import type { OutboundConnections } from '../outbound/outbound-connections.ts';
import type { ResolveService } from '../outbound/service-resolver.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { Rest } from '../rest/rest.ts';
import { ApiAvailability } from './api-availability.ts';
import { proxyRequest } from './api-proxy.ts';
import { API_SERVICES } from './api-service.ts';
import { MergedGroups } from './merged-groups.ts';
import { OwnApiServices } from './own-api-services.ts';
import { RemoteApis } from './remote-apis.ts';
import type { ClientCertificate } from './remote-server.ts';

export type AggregatorOptions = {
  readonly rest: Rest;
  readonly connections: OutboundConnections;
  readonly resolve: ResolveService;
  readonly clientCertificate: () => ClientCertificate | undefined;
  /** false: another thread of this server makes the APIServices of its own groups. */
  readonly publishesOwn?: boolean;
  readonly metrics?: Metrics;
  readonly log: (line: string) => void;
};

const OPENAPI = '/openapi/v3/apis/';
/** What was authorised here must be what the other server answers: nothing that it could read as another path. */
const LEADS_ELSEWHERE = /\/\.{0,2}\/|\/\.{1,2}$|[\u0000-\u001f\u007f\\]/;

export class ApiAggregator {
  readonly #options: AggregatorOptions;
  readonly #remote: RemoteApis;
  readonly #availability: ApiAvailability;
  readonly #own: OwnApiServices;
  readonly groups: MergedGroups;

  constructor(options: AggregatorOptions) {
    const { rest, connections, resolve, clientCertificate, metrics, log } = options;
    this.#options = options;
    const storage = rest.storages.followedStorageOf(API_SERVICES.group, API_SERVICES.plural);
    this.#remote = new RemoteApis(storage, { connections, resolve, clientCertificate });
    const unavailable = metrics?.gauge('aggregator_unavailable_apiservice', 'APIServices that cannot be used now', [
      'name',
    ]);
    const turns = metrics?.counter(
      'aggregator_unavailable_apiservice_total',
      'How often an APIService became unusable, by reason',
      ['name', 'reason'],
    );
    this.#availability = new ApiAvailability({
      storages: rest.storages,
      storage,
      serverOf: (name) => this.#remote.serverOf(name),
      names: () => this.#remote.names(),
      onChecked: (name, isAvailable, reason) => {
        unavailable?.labels({ name }).set(isAvailable ? 0 : 1);
        if (!isAvailable) turns?.labels({ name, reason }).inc();
      },
      log,
    });
    this.#remote.onChange = (name) => this.#availability.wake(name);
    this.#own = new OwnApiServices(rest, log);
    this.groups = new MergedGroups(rest.storages.registry, this.#remote);
  }

  async start(): Promise<void> {
    if (this.#options.publishesOwn !== false) await this.#own.start();
    this.#remote.start();
  }

  async close(): Promise<void> {
    await this.#availability.close();
    await this.#remote.close();
    await this.#own.close();
  }

  /** Undefined: this server answers itself. */
  handle(context: RequestContext): Promise<void> | undefined {
    if (this.#remote.size === 0) return undefined;
    const { path } = context;
    if (LEADS_ELSEWHERE.test(path)) return undefined;
    const isOpenApi = path.startsWith(OPENAPI);
    const [root, group = '', version = ''] = (
      isOpenApi ? path.slice(OPENAPI.length - 'apis/'.length) : path.slice(1)
    ).split('/');
    const api = root === 'apis' && version !== '' ? this.#remote.find(group, version) : undefined;
    return api && proxyRequest(context, api, this.#options.connections);
  }

  /** The OpenAPI of other servers, by name: where they have it. */
  *openApiUrls(): Generator<readonly [name: string, url: string]> {
    for (const { group, version, openApi } of this.#remote.all())
      if (openApi !== undefined) yield [`apis/${group}/${version}`, openApi];
  }
}
