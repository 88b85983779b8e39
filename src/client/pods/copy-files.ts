/**
 * Files and folders from a container and into it, by the `tar` in it, as they are read: nothing is held but a piece of each.
 *
 * What lies at the source lies at the target afterwards. What comes out of a container is written to the target and nowhere else
 * (`tar/unpack-tar.ts`). A copy that fails may have written a part of it, and nothing is begun a second time.
 */
import { basename, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isApiError, isTransportError, TransportError } from '../errors.ts';
import type { PodProcess } from './pod-process.ts';
import { packTar } from './tar/pack-tar.ts';
import { unpackTar } from './tar/unpack-tar.ts';

export type CopyOptions = {
  readonly namespace?: string | undefined;
  readonly container?: string | undefined;
  /** Of all files that come out of a container together: no limit. */
  readonly limitBytes?: number | undefined;
  /** Told of what is left out, and why: sockets and devices; out of a container also links that leave what is copied. */
  readonly onSkipped?: ((path: string, why: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

type Exec = (command: readonly string[], hasInput: boolean) => Promise<PodProcess>;

const LIMIT_STDERR_BYTES = 4096;

/** With a slash at its end, the target is the folder that it goes into, under its own name. */
export async function copyInto(exec: Exec, source: string, target: string, options: CopyOptions): Promise<void> {
  const into = target.endsWith('/') ? posix.join(target, basename(source)) : target;
  const { folder, name } = placeIn(into);
  if (name === '.') throw new TypeError(`Cannot copy "${source}" to "${target}": that is no name`);
  await using process = await exec(['tar', '-xmf', '-', '-C', folder], true);
  const complaint = textOf(process.stderr);
  process.stdout.resume();
  const archive = packTar(source, { name, onSkipped: options.onSkipped });
  const sent = await pipeline(archive, process.stdin).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  // A file that cannot be read is the reason; an input that broke off is what followed from the end of the program.
  if (sent && !isBrokenOff(sent.error)) throw sent.error;
  await ended(process, complaint, `"${source}" to "${target}"`);
  if (sent) throw sent.error;
}

export async function copyOutOf(exec: Exec, source: string, target: string, options: CopyOptions): Promise<void> {
  const { folder, name } = placeIn(source);
  await using process = await exec(['tar', '-cf', '-', '-C', folder, name === '.' ? name : `./${name}`], false);
  const complaint = textOf(process.stderr);
  const { limitBytes, onSkipped } = options;
  let entries = 0;
  try {
    ({ entries } = await unpackTar(process.stdout, target, { name, limitBytes, onSkipped }));
  } catch (cause) {
    if (isTransportError(cause) || isApiError(cause) || options.signal?.aborted) throw cause;
    const message = `Cannot copy "${source}" to "${target}": ${(cause as Error).message}`;
    throw new TransportError('body', message, { cause: cause as Error });
  }
  await ended(process, complaint, `"${source}" to "${target}"`);
  if (entries === 0) throw new TransportError('body', `Cannot copy "${source}" to "${target}": nothing came`);
}

/** The folder that `tar` works in, and the name in it. */
function placeIn(path: string): { readonly folder: string; readonly name: string } {
  const whole = posix.normalize(path).replace(/\/$/, '') || '/';
  const name = posix.basename(whole);
  if (name === '..') throw new TypeError(`Cannot copy "${path}": it has no name of its own`);
  return name === '' || name === '.' ? { folder: whole, name: '.' } : { folder: posix.dirname(whole), name };
}

async function ended(process: PodProcess, complaint: Promise<string>, what: string): Promise<void> {
  const code = await process.exited;
  if (code !== 0) throw new TransportError('body', `Cannot copy ${what}: tar ended with ${code}: ${await complaint}`);
}

function isBrokenOff(error: unknown): boolean {
  return (error as { code?: string }).code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/** Its beginning: that is where the reason is. */
async function textOf(stream: Readable): Promise<string> {
  let text = '';
  try {
    for await (const chunk of stream)
      if (text.length < LIMIT_STDERR_BYTES) text += String(chunk).slice(0, LIMIT_STDERR_BYTES);
  } catch {
    // told by the end of the program
  }
  return text.trim();
}
