/**
 * Says in the cluster that this server is there: a Lease in kube-system that it renews as long as it runs, as every
 * kube-apiserver does, and since when tokens of Secrets are accounted for.
 *
 * Always true: the Lease has the same name after a restart, for it is made of the machine's name and the data directory. Leases of
 * servers that did not renew theirs in time are taken away, and nothing else is. What fails is logged and tried again with
 * the next renewal; nothing waits for it.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, checkLabelValue, type JsonObject, type KubeObject, wallNow } from '../../api/index.ts';
import type { Rest } from '../rest/rest.ts';
import { objectAt, textAt } from '../strategy/validation/fields.ts';
import { ensureObject } from './ensure-object.ts';

const NAMESPACE = 'kube-system';
const IDENTITY = 'apiserver.kubernetes.io/identity';
const COMPONENT = 'kube-apiserver';
const DURATION_SECONDS = 3600;
/** A renewal is a write: often enough for many to fail, and seldom enough for a server that is idle. */
const RENEW_MS = 5 * 60_000;

export type IdentityLeaseOptions = {
  readonly rest: Rest;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: (line: string) => void;
};

export class IdentityLease {
  readonly name: string;
  readonly #options: IdentityLeaseOptions;
  readonly #holder: string;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: IdentityLeaseOptions) {
    this.#options = options;
    this.name = `apiserver-${digest(`${hostname()} ${options.dataDir}`)}`;
    this.#holder = `${this.name}_${crypto.randomUUID()}`;
  }

  /** Resolves when the first Lease is there, or cannot be written now. */
  async start(): Promise<void> {
    await this.#keep();
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await this.#options.clock.sleep(RENEW_MS, signal).catch(() => {});
      if (signal.aborted) return;
      await this.#keep();
    }
  }

  async #keep(): Promise<void> {
    try {
      await this.#renew();
      await this.#removeExpired();
    } catch (err) {
      if (this.#stop.signal.aborted) return;
      this.#options.log(`cannot renew the lease ${NAMESPACE}/${this.name}: ${(err as Error).message}; trying again`);
    }
  }

  async #renew(): Promise<void> {
    await ensureObject(this.#options.rest, 'coordination.k8s.io', 'leases', this.#lease(), ['spec']);
  }

  async #removeExpired(): Promise<void> {
    const storage = this.#options.rest.storages.storageOf('coordination.k8s.io', 'leases');
    const scope = `${NAMESPACE}/`;
    const at = { resourceVersion: '' };
    const { objects } = await storage.objects.list({ scope, start: scope, at, signal: this.#stop.signal });
    for (const stored of objects) {
      const lease = storage.toObject(stored);
      if (lease.metadata.labels?.[IDENTITY] === COMPONENT && isExpired(lease)) await storage.delete(stored);
    }
  }

  #lease(): KubeObject {
    const host = hostname();
    return {
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: {
        namespace: NAMESPACE,
        name: this.name,
        labels: {
          [IDENTITY]: COMPONENT,
          ...(checkLabelValue(host).length === 0 && { 'kubernetes.io/hostname': host }),
        },
      },
      spec: { holderIdentity: this.#holder, leaseDurationSeconds: DURATION_SECONDS, renewTime: nowInMicroseconds() },
    };
  }
}

/** Since when it is known which tokens of Secrets are used. */
export async function publishTokenTracking(rest: Rest): Promise<void> {
  await ensureObject(rest, '', 'configmaps', {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { namespace: NAMESPACE, name: 'kube-apiserver-legacy-service-account-token-tracking' },
    data: { since: new Date(wallNow()).toISOString().slice(0, 'yyyy-mm-dd'.length) },
  });
}

function isExpired(lease: KubeObject): boolean {
  const spec = objectAt(lease as JsonObject, 'spec');
  const seconds = Number(spec?.leaseDurationSeconds ?? DURATION_SECONDS);
  return Date.parse(textAt(spec, 'renewTime')) + seconds * 1000 < wallNow();
}

function nowInMicroseconds(): string {
  return new Date(wallNow()).toISOString().replace(/Z$/, '000Z');
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';

/** 128 bits in the letters of base 32. */
function digest(text: string): string {
  let bits = '';
  for (const byte of createHash('sha256').update(text).digest().subarray(0, 16))
    bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => LETTERS[Number.parseInt(five.padEnd(5, '0'), 2)]!).join('');
}
