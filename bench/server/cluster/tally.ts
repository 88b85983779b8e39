/**
 * What all parts of the load count into: how long requests and events took, what was refused, failed or cut off. It begins
 * anew when the load is warm; watches that end count from the first.
 */
import type { Answer, WatchEars } from './cluster-connection.ts';
import { Latencies } from './latencies.ts';

export class Tally {
  leases = new Latencies();
  podWrites = new Latencies();
  sliceWrites = new Latencies();
  otherWrites = new Latencies();
  reads = new Latencies();
  eventLatency = new Latencies();
  /** What is seen and heard counts. */
  isRunning = false;
  /** What happens by itself in a cluster happens. */
  isPlaying = false;
  events = 0;
  eventBytes = 0;
  refused = 0;
  failed = 0;
  goneErrors = 0;
  cutOff = 0;
  openWatches = 0;

  /** What was before does not count. */
  begin(): void {
    this.leases = new Latencies();
    this.podWrites = new Latencies();
    this.sliceWrites = new Latencies();
    this.otherWrites = new Latencies();
    this.reads = new Latencies();
    this.eventLatency = new Latencies();
    this.events = 0;
    this.eventBytes = 0;
    this.refused = 0;
    this.failed = 0;
  }

  /** Runs a request, times it and counts how it failed; undefined if it did. */
  async timed(into: Latencies, ask: () => Promise<Answer>): Promise<string | undefined> {
    const begin = performance.now();
    try {
      const { status, body } = await ask();
      if (status < 300) {
        into.add(performance.now() - begin);
        return body;
      }
      if (status === 429) this.refused++;
      else this.#fail(`${status} ${body.slice(0, 300)}`);
    } catch (err) {
      if (this.isRunning) this.#fail(String(err));
    }
    return undefined;
  }

  ears(more: Pick<WatchEars, 'onObject'> & { isListening?: boolean } = {}): WatchEars {
    return {
      onEvents: (events, bytes) => {
        if (!this.isRunning) return;
        this.events += events;
        this.eventBytes += bytes;
      },
      ...(more.isListening && {
        onMark: (sentMs: number) => this.isRunning && this.eventLatency.add(performance.now() - sentMs),
      }),
      ...(more.onObject && { onObject: more.onObject }),
      onGone: () => this.goneErrors++,
      onCutOff: () => this.cutOff++,
    };
  }

  #fail(text: string): void {
    if (this.failed++ < 5) console.error(`cluster: ${text}`);
  }
}
