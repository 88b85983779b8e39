/**
 * Long YAML is read by a thread of its own: js-yaml reads a text in one go, and a megabyte of it takes longer than anybody
 * else should have to wait. What comes back is JSON, which is read many times as fast.
 *
 * `readYamlAside` is awaited when the bytes are there, `readYamlBytes` asked when they are wanted; bytes that nobody has
 * read aside are read on the spot, so to forget the first costs time and nothing else.
 *
 * Always true: one thread, started when it is needed, gone when it has had nothing to do for a while, and never what keeps
 * the process alive. Waiting texts are bounded by what bodies may hold. When the thread dies, those who wait for it
 * fail, and the next text gets a new one.
 */
import type { Worker } from 'node:worker_threads';
import { makeThread } from '../../event-loop/make-thread.ts';
import { parseJson } from '../json/json-reader.ts';
import { readYaml, type YamlReading, YamlSyntaxError } from './yaml-reader.ts';
import type { YamlAnswer, YamlOrder } from './yaml-worker.ts';

/** Shorter ones take a few milliseconds, less than it takes to send them over and back. */
const LEAST_BYTES = 64 * 1024;
const IDLE_MS = 10_000;

type Waiting = { readonly resolve: (answer: YamlAnswer) => void; readonly reject: (reason: unknown) => void };

const readings = new WeakMap<Uint8Array, () => YamlReading>();
const waiting = new Map<number, Waiting>();
let reader: Worker | undefined;
let idle: NodeJS.Timeout | undefined;
let lastId = 0;

/** Fails with a YamlSyntaxError. */
export function readYamlBytes(bytes: Uint8Array): YamlReading {
  return readings.get(bytes)?.() ?? readYaml(textOf(bytes));
}

/** Fails with the signal's reason, or when the thread dies; a fault of the text is told by `readYamlBytes`. */
export async function readYamlAside(bytes: Uint8Array, asking: { readonly signal: AbortSignal }): Promise<void> {
  if (bytes.length < LEAST_BYTES) return;
  const { signal } = asking; // made when somebody asks
  signal.throwIfAborted();
  const answer = await ask(textOf(bytes), signal);
  readings.set(bytes, () => {
    if ('syntaxError' in answer) throw new YamlSyntaxError(answer.syntaxError);
    return { value: parseJson(answer.json), duplicates: answer.duplicates };
  });
}

function ask(text: string, signal: AbortSignal): Promise<YamlAnswer> {
  const id = ++lastId;
  return new Promise<YamlAnswer>((resolve, reject) => {
    const leave = () => reject(signal.reason);
    const over =
      <T>(done: (value: T) => void) =>
      (value: T) => {
        signal.removeEventListener('abort', leave);
        done(value);
      };
    signal.addEventListener('abort', leave, { once: true });
    waiting.set(id, { resolve: over(resolve), reject: over(reject) });
    clearTimeout(idle);
    reader ??= startReader();
    reader.postMessage({ id, text } satisfies YamlOrder);
  });
}

function startReader(): Worker {
  const worker = makeThread('yaml-worker');
  worker.unref();
  worker.on('message', (answer: YamlAnswer) => {
    waiting.get(answer.id)?.resolve(answer);
    waiting.delete(answer.id);
    if (waiting.size > 0) return;
    idle = setTimeout(() => {
      reader = undefined;
      void worker.terminate();
    }, IDLE_MS);
    idle.unref();
  });
  worker.on('error', (err) => {
    if (reader === worker) reader = undefined;
    for (const { reject } of waiting.values()) reject(err);
    waiting.clear();
  });
  return worker;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
