/** What makes pods: apps/v1 and batch/v1. */
import type { LabelSelectorObject, ObjectMeta } from '../../../api/index.ts';
import { defineResourceOf, type Resource } from '../define-resource.ts';
import type { ApiObject, Condition, ObjectReference, Open } from '../objects.ts';
import type { PersistentVolumeClaim } from './core.ts';
import type { PodTemplate } from './pod.ts';

export type Deployment = ApiObject<
  Open<{
    replicas?: number;
    selector: LabelSelectorObject;
    template: PodTemplate;
    strategy?: {
      type?: 'RollingUpdate' | 'Recreate';
      rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string };
    };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    paused?: boolean;
    progressDeadlineSeconds?: number;
  }>,
  Open<{
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    unavailableReplicas?: number;
    conditions?: (Condition & { lastUpdateTime?: string })[];
    collisionCount?: number;
  }>
>;

export type ReplicaSet = ApiObject<
  Open<{ replicas?: number; selector: LabelSelectorObject; template?: PodTemplate; minReadySeconds?: number }>,
  Open<{
    replicas: number;
    observedGeneration?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    fullyLabeledReplicas?: number;
    conditions?: Condition[];
  }>
>;

export type StatefulSet = ApiObject<
  Open<{
    replicas?: number;
    serviceName?: string;
    selector: LabelSelectorObject;
    template: PodTemplate;
    volumeClaimTemplates?: { metadata: ObjectMeta; spec: PersistentVolumeClaim['spec'] }[];
    podManagementPolicy?: 'OrderedReady' | 'Parallel';
    updateStrategy?: Open<{ type?: 'RollingUpdate' | 'OnDelete' }>;
  }>,
  Open<{
    replicas: number;
    observedGeneration?: number;
    readyReplicas?: number;
    currentReplicas?: number;
    updatedReplicas?: number;
    availableReplicas?: number;
    currentRevision?: string;
    updateRevision?: string;
    conditions?: Condition[];
  }>
>;

export type DaemonSet = ApiObject<
  Open<{
    selector: LabelSelectorObject;
    template: PodTemplate;
    updateStrategy?: Open<{ type?: 'RollingUpdate' | 'OnDelete' }>;
    minReadySeconds?: number;
  }>,
  Open<{
    desiredNumberScheduled: number;
    currentNumberScheduled: number;
    numberReady: number;
    numberMisscheduled: number;
    numberAvailable?: number;
    updatedNumberScheduled?: number;
    observedGeneration?: number;
    conditions?: Condition[];
  }>
>;

export type JobSpec = Open<{
  template: PodTemplate;
  parallelism?: number;
  completions?: number;
  backoffLimit?: number;
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  suspend?: boolean;
  selector?: LabelSelectorObject;
  completionMode?: 'NonIndexed' | 'Indexed';
}>;

export type Job = ApiObject<
  JobSpec,
  Open<{
    active?: number;
    succeeded?: number;
    failed?: number;
    ready?: number;
    startTime?: string;
    completionTime?: string;
    conditions?: Condition[];
  }>
>;

export type CronJob = ApiObject<
  Open<{
    schedule: string;
    timeZone?: string;
    suspend?: boolean;
    concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
    startingDeadlineSeconds?: number;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate: { metadata?: ObjectMeta; spec: JobSpec };
  }>,
  Open<{ active?: ObjectReference[]; lastScheduleTime?: string; lastSuccessfulTime?: string }>
>;

const apps = { group: 'apps', version: 'v1', isNamespaced: true };
const batch = { group: 'batch', version: 'v1', isNamespaced: true };

export const deployments: Resource<Deployment> = defineResourceOf({
  ...apps,
  plural: 'deployments',
  kind: 'Deployment',
});
export const replicaSets: Resource<ReplicaSet> = defineResourceOf({
  ...apps,
  plural: 'replicasets',
  kind: 'ReplicaSet',
});
export const statefulSets: Resource<StatefulSet> = defineResourceOf({
  ...apps,
  plural: 'statefulsets',
  kind: 'StatefulSet',
});
export const daemonSets: Resource<DaemonSet> = defineResourceOf({ ...apps, plural: 'daemonsets', kind: 'DaemonSet' });
export const jobs: Resource<Job> = defineResourceOf({ ...batch, plural: 'jobs', kind: 'Job' });
export const cronJobs: Resource<CronJob> = defineResourceOf({ ...batch, plural: 'cronjobs', kind: 'CronJob' });
