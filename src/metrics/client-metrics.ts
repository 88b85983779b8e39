/**
 * Requests, lists, watches and informers of one client as metrics. What happens is counted as it happens, so informers
 * may come and go between two scrapes; what they hold is read at the scrape.
 *
 * Several informers of one resource share its series: objects and backlogs are added up, of lag, sync and busy time the worst counts.
 */
import { leastOf } from '../api/index.ts';
import {
  type ClientObserver,
  errorReason,
  type HandlerMetrics,
  type ObservedInformer,
  type RequestSample,
  resourceName,
  type Transport,
} from '../client/advanced.ts';
import type { Resource } from '../client/index.ts';
import type { Labels } from './family.ts';
import type { MetricSet } from './metric-set.ts';

const EVENT_TYPES = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'];
const STATES = ['syncing', 'current', 'interrupted', 'refused', 'stopped'];

export class ClientMetrics implements Disposable {
  readonly #set: MetricSet;
  readonly #transport: Transport;
  /** Labels of every series. */
  readonly #common: Labels;
  readonly #host: string;
  readonly #observing: Disposable;
  /** Resources whose series are there. */
  readonly #begun = new Set<string>();

  constructor(set: MetricSet, transport: Transport, common: Labels) {
    this.#set = set;
    this.#transport = transport;
    this.#common = common;
    this.#host = transport.access.server.host;
    this.#observing = transport.observers.add(this.#observer());
    for (const { resource } of transport.observers.informers) this.#begin(resource);
  }

  /** Fills the gauges of the informers that run now. */
  collect(): void {
    const groups = new Map<string, ObservedInformer[]>();
    for (const informer of this.#transport.observers.informers) {
      const name = resourceName(informer.resource);
      const group = groups.get(name);
      if (group) group.push(informer);
      else groups.set(name, [informer]);
    }
    for (const [resource, informers] of groups) this.#collectInformers({ resource, ...this.#common }, informers);
  }

  [Symbol.dispose](): void {
    this.#observing[Symbol.dispose]();
  }

  #observer(): ClientObserver {
    const set = this.#set;
    const common = this.#common;
    const of = (resource: Resource): Labels => ({ resource: resourceName(resource), ...common });
    return {
      onRequest: (sample) => this.#onRequest(sample),
      onRetry: ({ code, verb }) => {
        const labels = { code: code === undefined ? '<error>' : String(code), verb, host: this.#host, ...common };
        set.values('rest_client_request_retries_total').add(labels, 1);
      },
      onWatchOpen: (resource) => this.#begin(resource),
      onWatchEvent: (resource, type) =>
        set.values('kubernetes_watch_events_total').add({ event_type: type, ...of(resource) }, 1),
      onWatchBytes: (resource, bytes) => set.values('kubernetes_watch_received_bytes_total').add(of(resource), bytes),
      onWatchEnd: ({ resource, error, durationMs }) => {
        set.histogram('kubernetes_watch_duration_seconds').observe(of(resource), durationMs / 1000);
        if (error === undefined) return;
        set.values('kubernetes_watch_errors_total').add({ reason: errorReason(error), ...of(resource) }, 1);
      },
      onReconnect: (resource) => set.values('kubernetes_watch_reconnects_total').add(of(resource), 1),
      onList: ({ resource, by, durationMs, error }) => {
        if (error !== undefined) {
          set.values('kubernetes_list_errors_total').add({ reason: errorReason(error), ...of(resource) }, 1);
          return;
        }
        set.values('kubernetes_list_total').add({ by, ...of(resource) }, 1);
        set.histogram('kubernetes_list_duration_seconds').observe({ by, ...of(resource) }, durationMs / 1000);
      },
      onHandled: ({ resource, handler, durationMs, isError, conflated }) => {
        const { group, version, plural } = resource;
        const labels = { group, version, resource: plural, ...common };
        set.histogram('informer_processing_latency_seconds').observe(labels, durationMs / 1000);
        const ofHandler = { handler, ...of(resource) };
        set.values('kubernetes_informer_handler_errors_total').add(ofHandler, isError ? 1 : 0);
        set.values('kubernetes_informer_handler_conflated_total').add(ofHandler, conflated);
      },
      onInformerState: ({ resource }) => this.#begin(resource),
    };
  }

  #onRequest({ method, verb, resource, code, failed, durationMs, responseBytes }: RequestSample): void {
    const set = this.#set;
    const shared = { host: this.#host, resource, ...this.#common };
    const outcome = code === undefined ? (failed === 'aborted' ? '<aborted>' : '<error>') : String(code);
    set.values('rest_client_requests_total').add({ code: outcome, method, ...shared }, 1);
    if (failed === 'aborted') return; // how long its caller had patience says nothing
    set.histogram('rest_client_request_duration_seconds').observe({ verb, ...shared }, durationMs / 1000);
    if (responseBytes === undefined) return;
    set.histogram('rest_client_response_size_bytes').observe({ verb, ...shared }, responseBytes);
  }

  /** A series that begins at 0 shows its first increase; one that begins with it does not. */
  #begin(resource: Resource): void {
    const name = resourceName(resource);
    if (this.#begun.has(name)) return;
    this.#begun.add(name);
    const labels = { resource: name, ...this.#common };
    for (const type of EVENT_TYPES)
      this.#set.values('kubernetes_watch_events_total').add({ event_type: type, ...labels }, 0);
    this.#set.values('kubernetes_watch_received_bytes_total').add(labels, 0);
    this.#set.values('kubernetes_watch_reconnects_total').add(labels, 0);
  }

  #collectInformers(labels: Labels, informers: readonly ObservedInformer[]): void {
    const set = this.#set;
    const { group, version, plural } = informers[0]!.resource;
    const gvr = { group, version, resource: plural, ...this.#common };
    for (const state of STATES) set.values('kubernetes_informer_state').add({ state, ...labels }, 0);
    const isSynced = informers.every((informer) => informer.isSynced);
    set.values('kubernetes_informer_synced').add(labels, isSynced ? 1 : 0);
    const versions: string[] = [];
    for (const { freshness, metrics } of informers) {
      const { state, lagMs, resourceVersion } = freshness;
      set.values('kubernetes_informer_state').add({ state, ...labels }, 1);
      set.values('kubernetes_informer_objects').add(labels, metrics.objects);
      if (lagMs !== undefined) set.values('kubernetes_informer_lag_seconds').raise(labels, lagMs / 1000);
      if (resourceVersion !== undefined) versions.push(resourceVersion);
      let queued = 0;
      for (const handler of metrics.handlers) {
        queued += handler.backlog;
        const name = handlerName(handler, plural);
        const ofHandler = { handler: name, ...labels };
        set.values('kubernetes_informer_handler_backlog').add(ofHandler, handler.backlog);
        set.values('kubernetes_informer_handler_busy_seconds').raise(ofHandler, handler.busyMs / 1000);
      }
      set.values('informer_queued_items').add(gvr, queued);
    }
    const contact = oldestTime(informers.map(({ freshness }) => freshness.lastContact));
    if (contact !== undefined) set.values('kubernetes_informer_last_contact_timestamp_seconds').add(labels, contact);
    this.#collectCheckpoints(labels, informers);
    const oldest = oldestOf(versions);
    if (oldest !== undefined) set.values('informer_store_resource_version').add(gvr, oldest);
  }

  #collectCheckpoints(labels: Labels, informers: readonly ObservedInformer[]): void {
    const checkpoints = informers.flatMap(({ metrics }) => metrics.checkpoint ?? []);
    for (const { bytes } of checkpoints) this.#set.values('kubernetes_informer_checkpoint_bytes').add(labels, bytes);
    const saved = oldestTime(checkpoints.map(({ savedAt }) => savedAt));
    if (saved === undefined) return;
    this.#set.values('kubernetes_informer_checkpoint_saved_timestamp_seconds').add(labels, saved);
  }
}

/** Names that an informer gives by itself are numbered, without end: they are no label. */
function handlerName({ name }: HandlerMetrics, plural: string): string {
  return name.startsWith(`${plural}-`) && /^\d+$/.test(name.slice(plural.length + 1)) ? '' : name;
}

/** Seconds since 1970. */
function oldestTime(times: readonly (Date | undefined)[]): number | undefined {
  const known = times.flatMap((time) => time?.getTime() ?? []);
  return known.length === 0 ? undefined : leastOf(known) / 1000;
}

/** The last 15 digits, as client-go shows them: more is not exact in a metric. Nothing if none is a number. */
function oldestOf(versions: readonly string[]): number | undefined {
  const numbers = versions.filter((version) => /^\d+$/.test(version)).map(BigInt);
  const [oldest] = numbers.sort((a, b) => (a < b ? -1 : 1));
  return oldest === undefined ? undefined : Number(oldest % 10n ** 15n);
}
