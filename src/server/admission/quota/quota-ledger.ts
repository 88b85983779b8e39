/**
 * Charges writes to the quotas of their namespace: what is used is written, compare-and-swap, before the object is stored.
 *
 * Always true: of one namespace one batch is at work; whoever comes meanwhile is in the next, and a batch writes each quota
 * once. So creates at the same time never exceed a quota, also when another server writes it too: a quota that has changed
 * meanwhile is judged anew as it is then, three times, and after that the write fails with a 409. A write that waited ten
 * seconds fails with a 500 and is not charged if it was not yet at work. What is charged and then not stored stays charged
 * until the quota's controller counts again; a write that is tried again in the place of the same version is charged for what
 * it has grown by since.
 */
import { internalError, type JsonObject, type KubeObject, staleVersion } from '../../../api/index.ts';
import { whenThere } from '../../event-loop/when-there.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { charge, type RunningQuota, runningQuota } from './charge.ts';

export type QuotaStore = {
  /** As this server knows them, its own writes included. */
  list(namespace: string): readonly KubeObject[] | Promise<readonly KubeObject[]>;
  /** Writes what is used if the quota is still what was judged; if not, what is there instead. */
  writeUsed(quota: KubeObject, used: JsonObject): Promise<'written' | { readonly instead: KubeObject | undefined }>;
};

const RETRIES = 3;
const TIMEOUT_MS = 10_000;
const quotas = { group: '', plural: 'resourcequotas' };

class Waiter {
  readonly a: AdmissionAttributes;
  readonly done: Promise<void>;
  isOver = false;
  #resolve: () => void = () => {};
  #reject: (why: unknown) => void = () => {};
  readonly #timer: NodeJS.Timeout;

  constructor(a: AdmissionAttributes, timeoutMs: number) {
    this.a = a;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => this.refuse(internalError('resource quota evaluation timed out')), timeoutMs);
    this.#timer.unref();
  }

  pass(): void {
    this.#end();
    this.#resolve();
  }

  refuse(why: unknown): void {
    this.#end();
    this.#reject(why);
  }

  #end(): void {
    this.isOver = true;
    clearTimeout(this.#timer);
  }
}

export class QuotaLedger {
  readonly #store: QuotaStore;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<string, Waiter[]>();

  constructor(store: QuotaStore, timeoutMs: number = TIMEOUT_MS) {
    this.#store = store;
    this.#timeoutMs = timeoutMs;
  }

  /** Resolves when the write is charged; undefined: it concerns no quota. */
  charge(a: AdmissionAttributes): void | Promise<void> {
    if (this.#waiting.has(a.namespace)) return this.#waitFor(a);
    return whenThere(this.#store.list(a.namespace), (quotas): void | Promise<void> =>
      quotas.length === 0 ? undefined : this.#waitFor(a),
    );
  }

  async #waitFor(a: AdmissionAttributes): Promise<void> {
    const waiter = new Waiter(a, this.#timeoutMs);
    const waiting = this.#waiting.get(a.namespace);
    if (waiting) waiting.push(waiter);
    else {
      this.#waiting.set(a.namespace, [waiter]);
      void this.#work(a.namespace);
    }
    await waiter.done;
  }

  async #work(namespace: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(namespace)!.splice(0);
      if (batch.length === 0) break;
      try {
        await this.#settle(batch, await this.#store.list(namespace), RETRIES);
      } catch (err) {
        for (const waiter of batch) if (!waiter.isOver) waiter.refuse(err);
      }
    }
    this.#waiting.delete(namespace);
  }

  async #settle(batch: readonly Waiter[], found: readonly KubeObject[], retries: number): Promise<void> {
    const before = found.map(runningQuota);
    const { after, charged } = await judge(batch, before);
    if (charged.length === 0) return;
    const changed: KubeObject[] = [];
    for (const [index, { quota, used }] of after.entries()) {
      if (used === before[index]!.used) continue;
      const outcome = await this.#store.writeUsed(quota, Object.fromEntries([...used].map(([k, v]) => [k, `${v}`])));
      if (outcome === 'written') continue;
      if (retries === 0) throw staleVersion(quotas, quota.metadata.name ?? '');
      if (outcome.instead) changed.push(outcome.instead); // one that is gone restrains nobody
    }
    if (changed.length > 0) return this.#settle(charged, changed, retries - 1);
    for (const waiter of charged) {
      const { a } = waiter;
      a.charged = { object: a.object!, over: a.oldObject?.metadata.resourceVersion };
      waiter.pass();
    }
  }
}

/** One after another, each on what those before leave; who changes nothing is done. */
async function judge(
  batch: readonly Waiter[],
  before: readonly RunningQuota[],
): Promise<{ after: readonly RunningQuota[]; charged: Waiter[] }> {
  let after = before;
  const charged: Waiter[] = [];
  const slices = new WorkSlices();
  for (const waiter of batch) {
    if (slices.isOver) await slices.pause();
    if (waiter.isOver) continue;
    try {
      const next = charge(after, waiter.a);
      if (waiter.a.isDryRun || next.every((one, index) => one === after[index])) waiter.pass();
      else {
        after = next;
        charged.push(waiter);
      }
    } catch (err) {
      waiter.refuse(err);
    }
  }
  return { after, charged };
}
