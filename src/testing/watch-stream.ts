/**
 * One watch as a client sees it: the events of an NDJSON body, one at a time.
 *
 * Nothing is read before it is asked for, so a reader that does not read is a slow client. The loop ends when the
 * server ends the body cleanly; a connection that breaks throws. Leaving the loop, by any door, ends the request.
 */
import type { Readable } from 'node:stream';
import type { KubeObject } from '../api/index.ts';

export type StreamEvent = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  /** A Status in an ERROR. */
  readonly object: KubeObject;
};

export class WatchStream implements AsyncIterable<StreamEvent>, AsyncDisposable {
  /** The body as it comes, for whoever wants its bytes; not while events are read. */
  readonly body: Readable;
  readonly #events: AsyncGenerator<StreamEvent, void, void>;

  constructor(body: Readable) {
    this.body = body;
    body.on('error', () => {}); // told to whoever reads, and to nobody else
    this.#events = readEvents(body);
  }

  /** The next event; undefined after a clean end. */
  async next(): Promise<StreamEvent | undefined> {
    const { value } = await this.#events.next();
    return value ?? undefined;
  }

  /** As many events as asked for; throws if the stream ends before. */
  async take(count: number): Promise<StreamEvent[]> {
    const taken: StreamEvent[] = [];
    while (taken.length < count) {
      const event = await this.next();
      if (!event) throw new Error(`Cannot take ${count} events: the watch ended after ${taken.length}`);
      taken.push(event);
    }
    return taken;
  }

  /** Everything up to and with the first event that fits; throws if the stream ends before. */
  async until(fits: (event: StreamEvent) => boolean): Promise<StreamEvent[]> {
    const taken: StreamEvent[] = [];
    for (;;) {
      const [event] = await this.take(1);
      taken.push(event!);
      if (fits(event!)) return taken;
    }
  }

  /** What is left until the clean end. */
  async rest(): Promise<StreamEvent[]> {
    const taken: StreamEvent[] = [];
    for await (const event of this) taken.push(event);
    return taken;
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamEvent, void, void> {
    return {
      next: () => this.#events.next(),
      return: async () => {
        this.close();
        return { done: true, value: undefined };
      },
    };
  }

  /** Goes away without a word, as a client does that has lost interest. */
  close(): void {
    this.body.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

async function* readEvents(body: Readable): AsyncGenerator<StreamEvent, void, void> {
  let started: Buffer[] = []; // of a line whose end has not come
  for await (const chunk of body as AsyncIterable<Buffer>) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      if (end < 0) break;
      const line = Buffer.concat([...started, chunk.subarray(from, end)]);
      started = [];
      from = end + 1;
      yield JSON.parse(line.toString('utf8')) as StreamEvent;
    }
    if (from < chunk.length) started.push(chunk.subarray(from));
  }
  if (started.length > 0) throw new Error(`Cannot read the watch: it ended inside an event after ${length(started)} B`);
}

function length(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
