/** The cluster that is looked at: how to ask it once, without the client's patience, and what was learned of it. */
import type { Answer } from '../../../client/advanced.ts';
import type { KubeClient } from '../../../client/index.ts';

export type PatientOptions = {
  readonly client: KubeClient;
  readonly namespace: string;
  /** For one answer. */
  readonly timeoutMs: number;
  /** How long the quiet stream is looked at. */
  readonly forMs: number;
  /** What counts as slow: a small answer, an event after its write was answered, bytes of a large answer. */
  readonly slow: { readonly answerMs: number; readonly eventMs: number; readonly bytesPerSecond: number };
  /** How long a stream must live for a bookmark to have come: servers send one a minute. */
  readonly bookmarkMs: number;
  /** How many resources are listed and watched; a cluster with more is looked at in part. */
  readonly mostResources: number;
  readonly signal: AbortSignal;
  /** In the names of what is made for the look. */
  readonly id: string;
  readonly dataDir?: string | undefined;
  readonly onStep: (text: string) => void;
};

export const BOOKMARK_MS = 75_000;
export const SLOW: PatientOptions['slow'] = { answerMs: 2000, eventMs: 1000, bytesPerSecond: 32 * 1024 };

export class Patient {
  readonly options: PatientOptions;
  readonly client: KubeClient;
  /** Of the last answer to /version. */
  isOurs = false;

  constructor(options: PatientOptions) {
    this.options = options;
    this.client = options.client;
  }

  /** One try: what a retry would hide is what we are here for. */
  async ask<T>(
    method: string,
    path: string,
    more: {
      readonly body?: unknown;
      readonly query?: Record<string, string | number>;
      readonly contentType?: string;
    } = {},
  ): Promise<Answer<T> & { readonly ms: number }> {
    const { timeoutMs, signal } = this.options;
    const timeouts = { headersMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs * 2 };
    const began = performance.now();
    const answer = await this.client.transport.request<T>(method, path, { ...more, timeouts, signal, maxTries: 1 });
    return { ...answer, ms: performance.now() - began };
  }

  /** Of its own, in the namespace of the context. */
  get probes(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.options.namespace)}/configmaps`;
  }
}
