/**
 * The log of a container, line by line, as it comes. Empty lines are lines; the last one need not have ended. A line over
 * 1 MiB comes in pieces of that size. Leaving the loop, by any door, ends the request.
 */
import { pods } from '../objects/generated/core-v1.ts';
import { objectPath } from '../resources/resource-path.ts';
import type { Transport } from '../transport/transport.ts';

export type LogOptions = {
  readonly namespace?: string | undefined;
  /** The only one, or that of the annotation `kubectl.kubernetes.io/default-container`, if not named. */
  readonly container?: string | undefined;
  /** Goes on with what is written from now on, until the container ends. */
  readonly follow?: boolean | undefined;
  /** Of the container before the last restart. */
  readonly previous?: boolean | undefined;
  /** Not older than that: a date, or so many seconds. */
  readonly since?: Date | number | undefined;
  /** The last so many lines. */
  readonly tailLines?: number | undefined;
  readonly limitBytes?: number | undefined;
  /** Each line begins with its time. */
  readonly timestamps?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

const LIMIT_LINE_BYTES = 1024 * 1024;
const NEWLINE = 10;

export async function* logLines(
  transport: Transport,
  name: string,
  namespace: string,
  options: LogOptions,
): AsyncGenerator<string, void, void> {
  const { container, follow, previous, since, tailLines, limitBytes, timestamps, signal } = options;
  const query = {
    container,
    follow: follow || undefined,
    previous: previous || undefined,
    ...(since instanceof Date ? { sinceTime: since.toISOString() } : { sinceSeconds: since }),
    tailLines,
    limitBytes,
    timestamps: timestamps || undefined,
  };
  const path = objectPath(pods, namespace, name, 'log');
  const answer = await transport.stream('GET', path, { query, signal, accept: '*/*' });
  try {
    yield* linesIn(answer.chunks);
  } finally {
    answer.close();
  }
}

async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  let started: Buffer[] = [];
  let bytes = 0;
  const end = (part: Buffer) => {
    const line = started.length === 0 ? part.toString() : Buffer.concat([...started, part]).toString();
    started = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    while (from < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, from);
      const to = Math.min(newline < 0 ? chunk.length : newline, from + LIMIT_LINE_BYTES - bytes);
      const part = chunk.subarray(from, to);
      const isWhole = to === newline;
      from = isWhole ? to + 1 : to;
      if (isWhole || bytes + part.length === LIMIT_LINE_BYTES) yield end(part);
      else {
        started.push(part);
        bytes += part.length;
      }
    }
  }
  if (bytes > 0) yield end(Buffer.alloc(0));
}
