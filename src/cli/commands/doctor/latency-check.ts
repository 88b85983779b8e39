/**
 * How long a change takes to those who watch, by changes of an object of our own, each waited for; and how far the history
 * reaches back, by a watch that resumes at the first of those versions when the examination is nearly over.
 *
 * An event counts as late by when the writer had its answer: the way of the request is not the watch's.
 */
import { corev1, isTransportError, type WatchEvent } from '../../../client/index.ts';
import { percentile, showMs } from '../../terminal/table.ts';
import { type Finding, findingOf, ok } from './finding.ts';
import type { Patient } from './patient.ts';

const WRITES = 20;

/** `changes`: how many were made. */
type Probe = { readonly name: string; readonly version: string; changes: number };
type Heard = { readonly n: number; readonly at: number };

export async function latencyCheck(patient: Patient, probe: Probe): Promise<Finding> {
  const { signal, timeoutMs } = patient.options;
  const stop = new AbortController();
  const mailbox = new Mailbox();
  const reading = read(patient, probe, AbortSignal.any([signal, stop.signal]), mailbox);
  const [whole, late]: [number[], number[]] = [[], []];
  try {
    for (let n = 1; n <= WRITES; n++) {
      patient.options.onStep(`watch latency: change ${n} of ${WRITES}`);
      const sent = performance.now();
      await touch(patient, probe.name, n);
      probe.changes = n;
      const answered = performance.now();
      const heard = await mailbox.next(timeoutMs);
      if (!heard) return await notHeard(patient, probe, mailbox);
      if (heard.n !== n) return lost(n, heard.n);
      whole.push(heard.at - sent);
      late.push(heard.at - answered);
    }
  } catch (err) {
    signal.throwIfAborted();
    return findingOf('watch latency', isStream(err) ? 'the watch' : 'a change', isStream(err) ? err.cause : err);
  } finally {
    stop.abort();
    await reading;
  }
  return latencies(whole, late, patient.options.slow.eventMs);
}

/** Whether the stream is dead, or left out that one change: another one tells. */
async function notHeard(patient: Patient, probe: Probe, mailbox: Mailbox): Promise<Finding> {
  const wanted = probe.changes;
  await touch(patient, probe.name, wanted + 1);
  probe.changes++;
  const next = await mailbox.next(patient.options.timeoutMs);
  return next ? lost(wanted, next.n) : halfOpen();
}

/** Changes the object; also what the quiet stream is given at its end. */
export async function touch(patient: Patient, name: string, n: number): Promise<void> {
  const contentType = 'application/merge-patch+json';
  await patient.ask('PATCH', `${patient.probes}/${name}`, { body: { data: { n: String(n) } }, contentType });
}

export async function windowCheck(patient: Patient, probe: Probe & { readonly madeAt: number }): Promise<Finding> {
  const { signal, timeoutMs } = patient.options;
  const stop = new AbortController();
  const mailbox = new Mailbox();
  patient.options.onStep('history');
  const reading = read(patient, probe, AbortSignal.any([signal, stop.signal]), mailbox);
  const ageMs = performance.now() - probe.madeAt;
  const back = `a watch from ${showMs(ageMs)} ago`;
  try {
    for (let n = 1; n <= probe.changes; n++) {
      const heard = await mailbox.next(timeoutMs);
      if (!heard) return { ...halfOpen(), check: 'history' };
      if (heard.n !== n) return { ...lost(n, heard.n), check: 'history' };
    }
    const { changes } = probe;
    const data = { seconds: Math.round(ageMs / 1000), changes };
    return ok('history', `reaches back for ${showMs(ageMs)} at least: ${back} got all ${changes} changes`, data);
  } catch (err) {
    signal.throwIfAborted();
    return findingOf('history', back, isStream(err) ? err.cause : err);
  } finally {
    stop.abort();
    await reading;
  }
}

function latencies(whole: number[], late: number[], lateMs: number): Finding {
  for (const times of [whole, late]) times.sort((a, b) => a - b);
  const [p50, p90, max] = [0.5, 0.9, 1].map((share) => percentile(whole, share));
  const data = { p50Ms: p50, p90Ms: p90, maxMs: max, writes: WRITES };
  const message = `from a write to its event ${showMs(p50!)}, 90 % within ${showMs(p90!)}, all within ${showMs(max!)}`;
  if (percentile(late, 0.5) < lateMs) return ok('watch latency', message, data);
  const remedy =
    'Events come long after their writes were answered: the server is overloaded, or a proxy buffers streams.';
  return { check: 'watch latency', level: 'warning', cause: 'late-events', message, remedy, data };
}

function halfOpen(): Finding {
  return {
    check: 'watch latency',
    level: 'failure',
    cause: 'half-open',
    message: 'a change was answered, and the watch was not told of it',
    remedy: 'Something on the way holds streams back or has forgotten them: look at proxies that buffer answers.',
  };
}

function lost(wanted: number, found: number): Finding {
  return {
    check: 'watch latency',
    level: 'failure',
    cause: 'lost-events',
    message: `change ${wanted} did not come, change ${found} did`,
    remedy: 'A watch must not leave out a change: this is a bug of the server, or of something that answers for it.',
  };
}

class StreamFailure extends Error {
  override readonly name = 'StreamFailure';
}

function isStream(err: unknown): err is StreamFailure {
  return err instanceof StreamFailure;
}

/** What came, in order; the end of the stream is thrown to whoever waits. */
class Mailbox {
  readonly #heard: Heard[] = [];
  #failure: StreamFailure | undefined;
  #wake: () => void = () => {};

  put(heard: Heard): void {
    this.#heard.push(heard);
    this.#wake();
  }

  fail(cause: unknown): void {
    this.#failure = new StreamFailure('the stream failed', { cause });
    this.#wake();
  }

  /** Undefined if nothing comes in time. */
  async next(limitMs: number): Promise<Heard | undefined> {
    if (this.#heard.length === 0 && !this.#failure) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const heard = this.#heard.shift();
    if (!heard && this.#failure) throw this.#failure;
    return heard;
  }
}

async function read(patient: Patient, probe: Probe, signal: AbortSignal, mailbox: Mailbox): Promise<void> {
  const { namespace, timeoutMs } = patient.options;
  try {
    const watch: AsyncIterable<WatchEvent<corev1.ConfigMap>> = patient.client.watch(corev1.configMaps, {
      namespace,
      fieldSelector: `metadata.name=${probe.name}`,
      resourceVersion: probe.version,
      timeoutSeconds: 600,
      headersTimeoutMs: timeoutMs,
      idleTimeoutMs: 0,
      signal,
    });
    for await (const { type, object } of watch)
      if (type === 'MODIFIED') mailbox.put({ n: Number(object.data?.n), at: performance.now() });
    mailbox.fail(endedEarly());
  } catch (err) {
    if (!signal.aborted || isTransportError(err)) mailbox.fail(err);
  }
}

/** In the words of `judge`. */
function endedEarly(): Error {
  return Object.assign(new Error('the stream was ended cleanly, before its time'), { isEndedEarly: true });
}
