/**
 * Every metric there is: its name, its labels and what it means. docs/metrics.md says the same to people, and a test
 * holds the two together.
 *
 * Names are those that dashboards know: of client-go (`rest_client_`, `workqueue_`, `leader_election_`, `informer_`), of
 * controller-runtime (`controller_runtime_`), and `kubernetes_` for what has no name there. Labels only ever take values
 * from short lists: no keys, no names of objects, no paths. `cluster` is on all of them, if it was asked for.
 */
export type Definition = {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  readonly buckets?: readonly number[];
};

/** Seconds. As in client-go since 1.24. */
const requestBuckets: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** Seconds. As in client-go 1.36 for informers. */
const handlerBuckets: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Seconds: watches live for minutes. */
const watchBuckets: readonly number[] = [0.1, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600];
const sizeBuckets: readonly number[] = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];

export type MetricName =
  | ClientMetric
  | InformerMetric
  | QueueMetric
  | ReconcileMetric
  | 'longwatch_manager_errors_total'
  | 'longwatch_manager_stuck_reconciles'
  | 'leader_election_master_status';

type ClientMetric =
  | 'rest_client_requests_total'
  | 'rest_client_request_duration_seconds'
  | 'rest_client_response_size_bytes'
  | 'rest_client_request_retries_total'
  | 'kubernetes_watch_events_total'
  | 'kubernetes_watch_received_bytes_total'
  | 'kubernetes_watch_errors_total'
  | 'kubernetes_watch_reconnects_total'
  | 'kubernetes_watch_duration_seconds'
  | 'kubernetes_list_total'
  | 'kubernetes_list_errors_total'
  | 'kubernetes_list_duration_seconds';

type InformerMetric =
  | 'kubernetes_informer_objects'
  | 'kubernetes_informer_synced'
  | 'kubernetes_informer_state'
  | 'kubernetes_informer_lag_seconds'
  | 'kubernetes_informer_last_contact_timestamp_seconds'
  | 'kubernetes_informer_checkpoint_bytes'
  | 'kubernetes_informer_checkpoint_saved_timestamp_seconds'
  | 'kubernetes_informer_handler_backlog'
  | 'kubernetes_informer_handler_busy_seconds'
  | 'kubernetes_informer_handler_errors_total'
  | 'kubernetes_informer_handler_conflated_total'
  | 'informer_queued_items'
  | 'informer_processing_latency_seconds'
  | 'informer_store_resource_version';

type QueueMetric =
  | 'workqueue_depth'
  | 'workqueue_adds_total'
  | 'workqueue_retries_total'
  | 'workqueue_queue_duration_seconds'
  | 'workqueue_work_duration_seconds'
  | 'workqueue_unfinished_work_seconds'
  | 'workqueue_longest_running_processor_seconds';

type ReconcileMetric =
  | 'controller_runtime_reconcile_total'
  | 'controller_runtime_reconcile_errors_total'
  | 'controller_runtime_terminal_reconcile_errors_total'
  | 'controller_runtime_reconcile_timeouts_total'
  | 'controller_runtime_reconcile_time_seconds'
  | 'controller_runtime_active_workers'
  | 'controller_runtime_max_concurrent_reconciles';

const resourceLabels = ['resource'];
const gvr = ['group', 'version', 'resource'];
const queueLabels = ['name', 'controller'];
const controllerLabels = ['controller'];

export const definitions: Readonly<Record<MetricName, Definition>> = {
  rest_client_requests_total: {
    type: 'counter',
    labels: ['code', 'method', 'host', 'resource'],
    help: 'Requests, repetitions included; the code is <error> without an answer, <aborted> if the caller gave it up.',
  },
  rest_client_request_duration_seconds: {
    type: 'histogram',
    labels: ['verb', 'host', 'resource'],
    help: 'Time from sending a request to the end of its answer; of a watch, to its beginning.',
    buckets: requestBuckets,
  },
  rest_client_response_size_bytes: {
    type: 'histogram',
    labels: ['verb', 'host', 'resource'],
    help: 'Size of answers that are not streams.',
    buckets: sizeBuckets,
  },
  rest_client_request_retries_total: {
    type: 'counter',
    labels: ['code', 'verb', 'host'],
    help: 'Requests that were sent again.',
  },
  kubernetes_watch_events_total: {
    type: 'counter',
    labels: ['resource', 'event_type'],
    help: 'Events of watches: ADDED, MODIFIED, DELETED, BOOKMARK.',
  },
  kubernetes_watch_received_bytes_total: {
    type: 'counter',
    labels: resourceLabels,
    help: 'Bytes of watches.',
  },
  kubernetes_watch_errors_total: {
    type: 'counter',
    labels: ['resource', 'reason'],
    help: 'Watches that were refused or broke: the reason of the API, or the phase of the transport.',
  },
  kubernetes_watch_reconnects_total: {
    type: 'counter',
    labels: resourceLabels,
    help: 'Watches that were opened again where the one before ended, without a list in between.',
  },
  kubernetes_watch_duration_seconds: {
    type: 'histogram',
    labels: resourceLabels,
    help: 'How long watches lived.',
    buckets: watchBuckets,
  },
  kubernetes_list_total: {
    type: 'counter',
    labels: ['resource', 'by'],
    help: 'How often the whole state was fetched, by stream or by pages: one for a start, more for lost history.',
  },
  kubernetes_list_errors_total: {
    type: 'counter',
    labels: ['resource', 'reason'],
    help: 'How often the whole state could not be fetched.',
  },
  kubernetes_list_duration_seconds: {
    type: 'histogram',
    labels: ['resource', 'by'],
    help: 'How long it took to fetch the whole state.',
    buckets: requestBuckets,
  },
  kubernetes_informer_objects: {
    type: 'gauge',
    labels: resourceLabels,
    help: 'Objects in the stores of informers.',
  },
  kubernetes_informer_synced: {
    type: 'gauge',
    labels: resourceLabels,
    help: '1 if every informer has had the whole state.',
  },
  kubernetes_informer_state: {
    type: 'gauge',
    labels: ['resource', 'state'],
    help: 'How many informers are syncing, current, interrupted, refused or stopped.',
  },
  kubernetes_informer_lag_seconds: {
    type: 'gauge',
    labels: resourceLabels,
    help: 'Time since the server was last heard, by the informer that has heard nothing for longest; absent before the first word.',
  },
  kubernetes_informer_last_contact_timestamp_seconds: {
    type: 'gauge',
    labels: resourceLabels,
    help: 'When the server was last heard, seconds since 1970, by the informer that has heard nothing for longest.',
  },
  kubernetes_informer_checkpoint_bytes: {
    type: 'gauge',
    labels: resourceLabels,
    help: 'Size of the files that stores are kept in.',
  },
  kubernetes_informer_checkpoint_saved_timestamp_seconds: {
    type: 'gauge',
    labels: resourceLabels,
    help: 'When a store was last written to its file, seconds since 1970; the oldest of several.',
  },
  kubernetes_informer_handler_backlog: {
    type: 'gauge',
    labels: ['resource', 'handler'],
    help: 'Events that wait for a handler; handlers without a name count together.',
  },
  kubernetes_informer_handler_busy_seconds: {
    type: 'gauge',
    labels: ['resource', 'handler'],
    help: 'How long a handler has been at its present event; one that hangs grows without end.',
  },
  kubernetes_informer_handler_errors_total: {
    type: 'counter',
    labels: ['resource', 'handler'],
    help: 'Events whose handler threw.',
  },
  kubernetes_informer_handler_conflated_total: {
    type: 'counter',
    labels: ['resource', 'handler'],
    help: 'Events that were joined with others because their handler was too slow.',
  },
  informer_queued_items: {
    type: 'gauge',
    labels: gvr,
    help: 'Events that wait for handlers.',
  },
  informer_processing_latency_seconds: {
    type: 'histogram',
    labels: gvr,
    help: 'How long handlers took for an event.',
    buckets: handlerBuckets,
  },
  informer_store_resource_version: {
    type: 'gauge',
    labels: gvr,
    help: 'The last 15 digits of the version that stores are at; the oldest of several.',
  },
  workqueue_depth: {
    type: 'gauge',
    labels: queueLabels,
    help: 'Keys that are ready and wait for a worker.',
  },
  workqueue_adds_total: {
    type: 'counter',
    labels: queueLabels,
    help: 'Keys that were queued.',
  },
  workqueue_retries_total: {
    type: 'counter',
    labels: queueLabels,
    help: 'Keys that were put off: after a failure, or because their reconcile asked for it.',
  },
  workqueue_queue_duration_seconds: {
    type: 'histogram',
    labels: queueLabels,
    help: 'How long keys waited for a worker.',
  },
  workqueue_work_duration_seconds: {
    type: 'histogram',
    labels: queueLabels,
    help: 'How long keys were worked on.',
  },
  workqueue_unfinished_work_seconds: {
    type: 'gauge',
    labels: queueLabels,
    help: 'How long the keys in flight have been worked on, together.',
  },
  workqueue_longest_running_processor_seconds: {
    type: 'gauge',
    labels: queueLabels,
    help: 'How long the oldest key in flight has been worked on.',
  },
  controller_runtime_reconcile_total: {
    type: 'counter',
    labels: ['controller', 'result'],
    help: 'Reconciles by result: success, requeue_after, error, stopped, abandoned.',
  },
  controller_runtime_reconcile_errors_total: {
    type: 'counter',
    labels: controllerLabels,
    help: 'Reconciles that failed.',
  },
  controller_runtime_terminal_reconcile_errors_total: {
    type: 'counter',
    labels: controllerLabels,
    help: 'Reconciles that failed and are not tried again.',
  },
  controller_runtime_reconcile_timeouts_total: {
    type: 'counter',
    labels: controllerLabels,
    help: 'Reconciles whose time was up.',
  },
  controller_runtime_reconcile_time_seconds: {
    type: 'histogram',
    labels: controllerLabels,
    help: 'How long reconciles took.',
  },
  controller_runtime_active_workers: {
    type: 'gauge',
    labels: controllerLabels,
    help: 'Reconciles that run now.',
  },
  controller_runtime_max_concurrent_reconciles: {
    type: 'gauge',
    labels: controllerLabels,
    help: 'How many reconciles may run at a time.',
  },
  longwatch_manager_errors_total: {
    type: 'counter',
    labels: ['part', 'controller'],
    help: 'Errors that stopped nothing, by where they came from: reconcile, informer, election, recorder, tracer.',
  },
  longwatch_manager_stuck_reconciles: {
    type: 'gauge',
    labels: controllerLabels,
    help: 'Reconciles that do not end.',
  },
  leader_election_master_status: {
    type: 'gauge',
    labels: ['name'],
    help: '1 while this process leads, 0 while it does not.',
  },
};
