/**
 * Objects that are made and deleted at a rate, while watchers follow: the pressure a watch cache lives under.
 *
 * Always true: never more than `count` objects, for `durationMs` at the longest, and never more than AT_ONCE requests at
 * once; a server that does not keep up gets fewer, not more. Everything that was made is removed, also after an
 * interrupt.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { corev1, isApiError, type KubeClient } from '../../../client/index.ts';
import { parseMetrics } from '../doctor/metrics-check.ts';
import { type Account, StressWatcher } from './stress-watcher.ts';

export type LoadOptions = {
  readonly client: KubeClient;
  readonly id: string;
  /** Objects a second; each is made and deleted. */
  readonly rate: number;
  readonly count: number;
  readonly durationMs: number;
  readonly watchers: number;
  /** Of the data in one object. */
  readonly sizeBytes: number;
  /** After the last write: whoever does not know everything by then does not get to know it. */
  readonly drainMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: (share: number, text: string) => void;
};

export type LoadResult = {
  readonly made: number;
  readonly deleted: number;
  readonly seconds: number;
  readonly writeMs: readonly number[];
  readonly watchers: readonly StressWatcher[];
  readonly errors: ReadonlyMap<string, number>;
  readonly memoryBytes: readonly number[];
};

const AT_ONCE = 64;
const TICK_MS = 5;
const LABEL = 'longwatch-stress';

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { client, count, watchers: number, id } = options;
  const account = newAccount(count);
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const watchers = Array.from({ length: number }, () => new StressWatcher(client, `${LABEL}=${id}`, account));
  const memoryBytes: number[] = [];
  const running: Promise<void>[] = [];
  try {
    await Promise.all(
      watchers.map(
        (watcher) =>
          new Promise<void>((resolve, reject) => {
            running.push(watcher.run(signal, resolve).catch(reject));
          }),
      ),
    );
    await noteMemory(client, memoryBytes);
    const writes = await write(options, account, memoryBytes);
    await drain(watchers, options);
    await noteMemory(client, memoryBytes);
    return { ...writes, watchers, memoryBytes };
  } finally {
    stop.abort();
    await Promise.allSettled(running);
    // Not with the signal: what was made goes, also after an interrupt.
    await client.resource(corev1.configMaps).deleteCollection({ labelSelector: `${LABEL}=${id}` });
  }
}

async function write(
  options: LoadOptions,
  account: Account,
  memoryBytes: number[],
): Promise<Omit<LoadResult, 'watchers' | 'memoryBytes'>> {
  const { client, rate, count, durationMs, signal, onProgress } = options;
  const writeMs: number[] = [];
  const errors = new Map<string, number>();
  const open = new Set<Promise<void>>();
  const began = performance.now();
  let [next, made, deleted, sampledAt] = [0, 0, 0, began];
  const pair = async (n: number) => {
    try {
      await timed(writeMs, () => create(options, account, n));
      made++;
      await timed(writeMs, () => remove(options, account, n));
      deleted++;
    } catch (err) {
      if (signal.aborted) return;
      const reason = isApiError(err) ? `${err.code} ${err.reason}` : (err as Error).name;
      errors.set(reason, (errors.get(reason) ?? 0) + 1);
    }
  };
  while (next < count && performance.now() - began < durationMs && !signal.aborted) {
    const elapsed = performance.now() - began;
    const due = Math.min(count, Math.floor((elapsed / 1000) * rate) + 1);
    while (next < due && open.size < AT_ONCE) {
      const one: Promise<void> = pair(next++).finally(() => open.delete(one));
      open.add(one);
    }
    const share = Math.max(next / count, elapsed / durationMs);
    onProgress(share, `${next} objects, ${Math.round((next / Math.max(1, elapsed)) * 1000)}/s`);
    if (performance.now() - sampledAt > 1000) {
      sampledAt = performance.now();
      await noteMemory(client, memoryBytes);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(open);
  return { made, deleted, seconds: (performance.now() - began) / 1000, writeMs, errors };
}

async function create({ client, id, sizeBytes, signal }: LoadOptions, account: Account, n: number): Promise<void> {
  (account.createdAt as number[])[n] = performance.now();
  const metadata = { name: nameOf(id, n), labels: { [LABEL]: id } };
  const made = await client
    .resource(corev1.configMaps)
    .create({ metadata, data: { filler: 'x'.repeat(sizeBytes) } }, { signal });
  (account.versions as (string | undefined)[])[n] = made.metadata.resourceVersion;
  account.isCreated[n] = 1;
}

async function remove({ client, id, signal }: LoadOptions, account: Account, n: number): Promise<void> {
  (account.deletedAt as number[])[n] = performance.now();
  await client.resource(corev1.configMaps).delete(nameOf(id, n), { signal });
  account.isDeleted[n] = 1;
}

function nameOf(id: string, n: number): string {
  return `${LABEL}-${id}-${n}`;
}

async function timed(into: number[], work: () => Promise<void>): Promise<void> {
  const began = performance.now();
  await work();
  into.push(performance.now() - began);
}

/** Until every watcher knows everything, or long enough. */
async function drain(watchers: readonly StressWatcher[], { drainMs, signal }: LoadOptions): Promise<void> {
  const until = performance.now() + drainMs;
  while (watchers.some(({ gaps }) => gaps > 0) && performance.now() < until && !signal.aborted) await sleep(20);
}

function newAccount(count: number): Account {
  const times = () => new Array<number | undefined>(count).fill(undefined);
  const versions = new Array<string | undefined>(count).fill(undefined);
  return {
    createdAt: times(),
    deletedAt: times(),
    versions,
    isCreated: new Uint8Array(count),
    isDeleted: new Uint8Array(count),
  };
}

/** Where this user may know it. */
async function noteMemory(client: KubeClient, into: number[]): Promise<void> {
  try {
    const { body } = await client.transport.request<string>('GET', '/metrics', { maxTries: 1 });
    const resident = parseMetrics(body).find(({ name }) => name === 'process_resident_memory_bytes');
    if (resident) into.push(resident.value);
  } catch {
    // then it is not told
  }
}
