/**
 * What a server of ours tells of itself, group `introspection.longwatch.dev/v1alpha1`, as its readers know it: the command
 * and the page. docs/introspection.md describes all of it.
 */
type Meta = { readonly name: string; readonly creationTimestamp?: string };
type Target = { readonly group: string; readonly resource: string; readonly namespace?: string };

export type WatchInfo = {
  readonly metadata: Meta;
  readonly spec: Target & {
    readonly user: string;
    readonly userAgent?: string;
    readonly address?: string;
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
  readonly spec: Target;
  readonly status: {
    readonly objects: number;
    readonly revision: number;
    readonly window: {
      readonly fromRevision: number;
      readonly toRevision: number;
      readonly seconds?: number;
      readonly events: number;
      readonly capacity: number;
    };
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
  readonly spec: Target & {
    readonly user: string;
    readonly userAgent?: string;
    readonly address?: string;
    readonly verb: string;
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
    readonly isExempt: boolean;
    readonly seats: { readonly limit?: number; readonly inUse: number };
    readonly waiting: number;
    readonly executing: number;
    readonly dispatched: number;
    readonly rejected: number;
    readonly flows?: readonly {
      readonly schema: string;
      readonly distinguisher: string;
      readonly waiting: number;
      readonly executing: number;
    }[];
    readonly flowCount?: number;
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
