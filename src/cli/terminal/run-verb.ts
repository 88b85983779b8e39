/**
 * Runs one verb from its beginning to an exit code: 0 it did it, 1 it could not, 2 it was called the wrong way, 3 it did
 * it and found something (`doctor`, `lab`).
 *
 * What goes wrong is one sentence that says what was found, and one that says what to do next. A bug is shown whole. A
 * verb that was interrupted ends quietly.
 */
import { type Io, processIo } from './io.ts';
import { harmless } from './paint.ts';

/** It was called the wrong way: nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** It could not do it; `next` says what would help. */
export class VerbError extends Error {
  override readonly name = 'VerbError';
  readonly next: string | undefined;

  constructor(message: string, next?: string, options?: ErrorOptions) {
    super(message, options);
    this.next = next;
  }
}

export const EXIT = { done: 0, failed: 1, misused: 2, found: 3 } as const;

/** A number is the code that the process ends with; anything else is 0. */
export type Verb = (io: Io) => Promise<unknown>;

export async function runVerb(verb: Verb): Promise<void> {
  const io = processIo();
  process.exitCode = await codeOf(verb, io);
  // A connection that some library keeps, or our handlers of signals, need not hold the process.
  process.stdout.write('', () => process.exit());
}

export async function codeOf(verb: Verb, io: Io): Promise<number> {
  try {
    const code = await verb(io);
    return typeof code === 'number' ? code : EXIT.done;
  } catch (err) {
    if (io.signal.aborted && (err === io.signal.reason || isAbort(err))) return EXIT.done;
    for (const line of linesOf(err).flatMap((text) => text.split('\n'))) io.note(harmless(line));
    return err instanceof UsageError ? EXIT.misused : EXIT.failed;
  }
}

function linesOf(err: unknown): string[] {
  if (!(err instanceof Error)) return [`longwatch: ${String(err)}`];
  const next = nextOf(err);
  const isOurs = next !== undefined || /^(Usage|Verb|Store|Api|Transport|Config|Checkpoint)Error$/.test(err.name);
  const isOfSystem = 'syscall' in err;
  const first = `longwatch: ${isOurs || isOfSystem ? err.message : (err.stack ?? err.message)}`;
  return next === undefined ? [first] : [first, `  ${next}`];
}

/** By the name of an error, not by its class: two copies of the package agree on names only. */
function nextOf(err: Error): string | undefined {
  const { next, reason, phase, code } = err as { next?: string; reason?: string; phase?: string; code?: unknown };
  if (next !== undefined) return next;
  if (err.name === 'UsageError') return undefined;
  if (err.name === 'ConfigError')
    return 'Name a kubeconfig with --kubeconfig FILE or a context with --context NAME; `longwatch serve` starts a server and writes one.';
  if (err.name === 'TransportError' && phase === 'connect')
    return /CERT|SELF_SIGNED|ALTNAME/.test(String(code))
      ? 'The certificate is not one that the kubeconfig trusts: is it the kubeconfig of this very server?'
      : 'Is the server running, and is it the one in the kubeconfig? `longwatch doctor` looks closer.';
  if (err.name === 'TransportError') return 'The connection did not hold; `longwatch doctor` looks closer.';
  if (reason === 'Unauthorized')
    return 'The server does not know these credentials: take another context (--context), or a fresh kubeconfig.';
  if (reason === 'Forbidden')
    return 'Use a context whose user may do that, or have the right given: `kubectl auth can-i --list`.';
  return undefined;
}

function isAbort(err: unknown): boolean {
  return err instanceof Error && (err.name === 'AbortError' || err.name === 'Interrupted');
}
