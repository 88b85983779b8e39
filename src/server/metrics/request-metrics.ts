/**
 * Counts requests as kube-apiserver does: the same names, the same labels, so that its dashboards work here.
 *
 * Always true: labels come from what is served, never from what was merely asked for. A resource gets labels of its own
 * with the first request that goes well, and there is a limit to how many; everything else counts without a name. So
 * nobody can fill the memory with invented paths. One request costs a lookup by one string and a few additions.
 */
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { Count, Level } from './labelled.ts';
import type { Metrics } from './metrics.ts';
import type { PlainHistogram } from './plain-histogram.ts';
import { SecondPeak } from './second-peak.ts';

const DURATION_BUCKETS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const SIZE_BUCKETS = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const MAX_LABEL_SETS = 5000;

const ROUTE = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;
const ROUTE_OF = [...ROUTE, 'component'] as const;
type RouteLabels = Record<(typeof ROUTE)[number], string>;

/** What counts one kind of request, looked up once and kept. */
type Route = {
  readonly labels: RouteLabels;
  readonly dryRun: string;
  readonly duration: PlainHistogram;
  readonly sli: PlainHistogram | undefined;
  readonly sizes: PlainHistogram | undefined;
  readonly running: Level | undefined;
  readonly totals: Map<number, Count>;
};

/** `now` in seconds. */
export function requestMetrics(metrics: Metrics, now?: () => number): RequestObserver {
  const total = metrics.counter<string>(
    'apiserver_request_total',
    'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
    [...ROUTE_OF, 'dry_run', 'code'],
  );
  const duration = metrics.histogram<string>(
    'apiserver_request_duration_seconds',
    'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
    DURATION_BUCKETS,
    [...ROUTE_OF, 'dry_run'],
  );
  const sli = metrics.histogram<string>(
    'apiserver_request_sli_duration_seconds',
    'Response latency distribution (not counting webhook duration) in seconds.',
    DURATION_BUCKETS,
    ROUTE_OF,
  );
  const sizes = metrics.histogram<string>(
    'apiserver_response_sizes',
    'Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.',
    SIZE_BUCKETS,
    ROUTE_OF,
  );
  const running = metrics.gauge<string>(
    'apiserver_longrunning_requests',
    'Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component.',
    ROUTE_OF,
  );
  const inFlight = metrics.gauge<string>(
    'apiserver_current_inflight_requests',
    'Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
    ['request_kind'],
  );
  const aborts = metrics.counter<string>(
    'apiserver_request_aborts_total',
    'Number of requests which apiserver aborted possibly due to a timeout, for each group, version, verb, resource, subresource and scope.',
    ROUTE,
  );
  const terminations = metrics.counter<string>(
    'apiserver_request_terminations_total',
    'Number of requests which apiserver terminated in self-defense.',
    [...ROUTE_OF, 'code'],
  );
  const watchEnds = metrics.counter<string>('longwatch_watches_ended_total', 'Watches that have ended, by why.', [
    'group',
    'resource',
    'reason',
  ]);
  const handshakeErrors = metrics.counter(
    'apiserver_tls_handshake_errors_total',
    "Number of requests dropped with 'TLS handshake error from' error",
  );
  const seats = {
    readOnly: inFlight.labels({ request_kind: 'readOnly' }),
    mutating: inFlight.labels({ request_kind: 'mutating' }),
  };
  const taken = { readOnly: new SecondPeak(now), mutating: new SecondPeak(now) };
  metrics.onScrape(() => {
    seats.readOnly.set(taken.readOnly.lastSecond);
    seats.mutating.set(taken.mutating.lastSecond);
  });

  const routes = new Map<string, Route>();
  const routeOf = (context: RequestContext, isServed: boolean): Route => {
    const dryRun = dryRunOf(context);
    const labels = labelsOf(context);
    const key = `${dryRun}\0${labels.verb}\0${labels.group}\0${labels.version}\0${labels.resource}\0${labels.subresource}\0${labels.scope}`;
    const known = routes.get(key);
    if (known) return known;
    if (isServed && routes.size < MAX_LABEL_SETS) {
      const made = makeRoute(labels, dryRun);
      routes.set(key, made);
      return made;
    }
    return nameless(labels.verb);
  };
  const nameless = (verb: string): Route => {
    const key = `nameless\0${verb}`;
    const known = routes.get(key);
    if (known) return known;
    const made = makeRoute({ verb, group: '', version: '', resource: '', subresource: '', scope: '' }, '');
    routes.set(key, made);
    return made;
  };
  const makeRoute = (labels: RouteLabels, dryRun: string): Route => {
    const withComponent = { ...labels, component: 'apiserver' };
    const isLong = labels.verb === 'WATCH';
    return {
      labels,
      dryRun,
      duration: duration.labels({ ...withComponent, dry_run: dryRun }),
      sli: isLong ? undefined : sli.labels(withComponent),
      sizes: labels.verb === 'GET' || labels.verb === 'LIST' ? sizes.labels(withComponent) : undefined,
      running: isLong ? running.labels(withComponent) : undefined,
      totals: new Map(),
    };
  };
  const watching = new WeakMap<RequestContext, Route>();

  return {
    begin(context) {
      if (!isWatch(context.requestInfo)) return;
      const route = routeOf(context, true);
      route.running?.inc();
      watching.set(context, route);
    },
    streamOpened: () => {},
    seat(kind, change) {
      taken[kind].change(change);
    },
    end(context, { status, sentBytes, seconds, isTerminated, streamEnd }) {
      const isServed = status > 0 && status < 400;
      const route = watching.get(context) ?? routeOf(context, isServed);
      if (watching.has(context)) {
        route.running?.dec();
        const { group, resource } = route.labels;
        if (streamEnd) watchEnds.inc({ group, resource, reason: streamEnd });
      }
      if (status === 0) {
        aborts.inc({ ...route.labels });
        return;
      }
      let counter = route.totals.get(status);
      if (!counter) {
        const labels = { ...route.labels, component: 'apiserver', dry_run: route.dryRun, code: String(status) };
        counter = total.labels(labels);
        route.totals.set(status, counter);
      }
      counter.inc();
      if (isTerminated) terminations.inc({ ...route.labels, component: 'apiserver', code: String(status) });
      route.duration.observe(seconds);
      route.sli?.observe(seconds);
      route.sizes?.observe(sentBytes);
    },
    handshakeFailed: () => handshakeErrors.inc(),
  };
}

function dryRunOf(context: RequestContext): string {
  return context.method !== 'GET' && context.queryText !== '' && context.query.get('dryRun') === 'All' ? 'All' : '';
}

function isWatch(requestInfo: RequestInfo): boolean {
  return requestInfo.kind === 'resource' && requestInfo.verb === 'watch';
}

const VERB_LABELS: Record<string, string> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
};
const METHOD_LABELS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Paths that are counted by name; a path that is not listed is counted without. */
const NAMED_PATHS = new Set([
  '/healthz',
  '/livez',
  '/readyz',
  '/version',
  '/metrics',
  '/api',
  '/apis',
  '/openapi/v2',
  '/openapi/v3',
  '/longwatch/snapshot',
]);

function labelsOf({ method, path, requestInfo, headers }: RequestContext): RouteLabels {
  if (requestInfo.kind === 'other') {
    const verb = METHOD_LABELS.has(method) ? method : 'other';
    const subresource = NAMED_PATHS.has(path) ? path : '';
    return { verb, group: '', version: '', resource: '', subresource, scope: '' };
  }
  const { group, version, resource, subresource, namespace, name } = requestInfo;
  const isApply = requestInfo.verb === 'patch' && String(headers['content-type']).startsWith('application/apply-patch');
  const verb = isApply ? 'APPLY' : (VERB_LABELS[requestInfo.verb] ?? 'other');
  const scope = name !== '' || requestInfo.verb === 'create' ? 'resource' : namespace !== '' ? 'namespace' : 'cluster';
  return { verb, group, version, resource, subresource, scope };
}
