/**
 * A stream that is left in peace, as those of informers are: does it live as long as it was promised, do bookmarks come,
 * and does it still deliver at the end? A stream that something on the way has forgotten looks just like a quiet one, so
 * a change is made for it at the end: if another watch hears of that and this one does not, it is half open.
 */
import { corev1, type WatchEvent } from '../../../client/index.ts';
import { showMs } from '../../terminal/table.ts';
import { type Finding, findingOf, ok, skipped } from './finding.ts';
import type { Patient } from './patient.ts';

/** An end that comes this much too early is one. */
const EARLY_MS = 1000;
/** The stream is asked to last so much longer than it is looked at, and it must have delivered by then. */
const GRACE_S = 30;

type End = { readonly livedMs: number; readonly error?: unknown };

export class QuietStream {
  readonly #patient: Patient;
  readonly #name: string;
  readonly #bookmarks: number[] = [];
  readonly #stop = new AbortController();
  #opened = 0;
  #end: End | undefined;
  #ending: Promise<void> = Promise.resolve();
  #delivered: () => void = () => {};
  #hasDelivered = false;

  /** `name`: of the object that is changed at the end. */
  constructor(patient: Patient, name: string) {
    this.#patient = patient;
    this.#name = name;
  }

  /** Opens it; throws what the opening met. */
  async open(version: string): Promise<void> {
    const { client, options } = this.#patient;
    await new Promise<void>((resolve, reject) => {
      const watch = client.watch(corev1.configMaps, {
        namespace: options.namespace,
        fieldSelector: `metadata.name=${this.#name}`,
        resourceVersion: version,
        timeoutSeconds: Math.ceil(options.forMs / 1000) + GRACE_S,
        headersTimeoutMs: options.timeoutMs,
        idleTimeoutMs: 0, // that is what we look for ourselves
        signal: AbortSignal.any([options.signal, this.#stop.signal]),
        onOpen: () => {
          this.#opened = performance.now();
          resolve();
        },
      });
      this.#ending = this.#read(watch).catch(reject);
    });
  }

  /** After its time: what became of it. `touch` changes the object, where that is allowed. */
  async *findings(touch: (() => Promise<unknown>) | undefined): AsyncGenerator<Finding, void, void> {
    const { forMs, signal, onStep, timeoutMs } = this.#patient.options;
    const left = Math.max(0, this.#opened + forMs - performance.now());
    onStep(`looking at a quiet stream for ${showMs(forMs)}`);
    await Promise.race([pause(left, signal), this.#ending]);
    signal.throwIfAborted();
    if (!this.#end && touch) {
      const heard = new Promise<void>((resolve) => {
        this.#delivered = resolve;
      });
      try {
        await touch();
        await Promise.race([heard.then(() => true), this.#ending, pause(timeoutMs, signal)]);
      } catch (err) {
        signal.throwIfAborted();
        yield findingOf('quiet stream', 'the change that it should deliver', err);
        this.#stop.abort();
        return;
      }
    }
    yield this.#judge(touch !== undefined);
    yield this.#bookmarksSeen();
    this.#stop.abort();
    await this.#ending;
  }

  close(): void {
    this.#stop.abort();
  }

  #judge(isTouched: boolean): Finding {
    const { forMs } = this.#patient.options;
    const check = 'quiet stream';
    if (this.#end?.error !== undefined) {
      const after = `a watch that was quiet broke after ${showMs(this.#end.livedMs)}`;
      return findingOf(check, after, this.#end.error);
    }
    if (this.#end && this.#end.livedMs < forMs + GRACE_S * 1000 - EARLY_MS)
      return {
        check,
        level: 'failure',
        cause: 'ended-early',
        message: `a watch was ended cleanly after ${showMs(this.#end.livedMs)}, before its time`,
        remedy: 'A proxy with a limit on the length of answers, or a server that is being restarted: raise that limit.',
      };
    if (isTouched && !this.#hasDelivered && !this.#end)
      return {
        check,
        level: 'failure',
        cause: 'half-open',
        message: 'a watch is open and delivers nothing any more, and nobody was told',
        remedy:
          'Something on the way forgets connections that are quiet: raise its idle time-out above 60 s; clients need a limit on silence.',
      };
    return ok(check, `lived for ${showMs(performance.now() - this.#opened)}${isTouched ? ' and still delivers' : ''}`);
  }

  #bookmarksSeen(): Finding {
    const livedMs = this.#end?.livedMs ?? performance.now() - this.#opened;
    const [first] = this.#bookmarks;
    if (first !== undefined)
      return ok('bookmarks', `${this.#bookmarks.length} in ${showMs(livedMs)}, the first after ${showMs(first)}`, {
        count: this.#bookmarks.length,
        firstMs: Math.round(first),
      });
    if (livedMs < this.#patient.options.bookmarkMs || this.#end)
      return skipped('bookmarks', `none in ${showMs(livedMs)}, which is too short to tell: --for 80s`);
    return {
      check: 'bookmarks',
      level: 'warning',
      cause: 'no-bookmarks',
      message: `none in ${showMs(livedMs)}`,
      remedy:
        'Without them a quiet watch falls out of the history and must list again: use a server that sends them, or restart watches often.',
    };
  }

  async #read(watch: AsyncIterable<WatchEvent>): Promise<void> {
    try {
      for await (const { type } of watch) {
        if (type === 'BOOKMARK') this.#bookmarks.push(performance.now() - this.#opened);
        else {
          this.#hasDelivered = true;
          this.#delivered();
        }
      }
      if (!this.#stop.signal.aborted) this.#end = { livedMs: performance.now() - this.#opened };
    } catch (error) {
      if (this.#opened === 0) throw error;
      if (!this.#stop.signal.aborted) this.#end = { livedMs: performance.now() - this.#opened, error };
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}
