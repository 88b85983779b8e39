/**
 * What a verb has of the world: where its answer goes, where its remarks go, and when to stop. Verbs use nothing else of
 * the process, so that a test can run one without starting another.
 *
 * Always true: stdout carries the answer and nothing else; remarks, progress and errors go to stderr. A reader that has
 * gone (`| head`) ends the verb, as an interrupt does.
 */
import { hasColours, type Paint, paintWith } from './paint.ts';

export type Io = {
  /** To stdout, as it is. */
  write(text: string): void;
  /** A line on stdout. */
  print(line: string): void;
  /** A line on stderr. */
  note(line: string): void;
  /** To stderr, as it is: what is drawn over and over. */
  draw(text: string): void;
  /** Colours of stdout, and of stderr. */
  readonly paint: Paint;
  readonly notePaint: Paint;
  readonly isTerminal: boolean;
  readonly isNoteTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  /** SIGINT, SIGTERM, or nobody reads any more. */
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
};

/** Why a verb is stopped. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export function processIo(): Io {
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Interrupted('It was interrupted'));
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => (stop.signal.aborted ? process.exit(1) : interrupt()));
  const { stdout, stderr, env } = process;
  stdout.on('error', interrupt);
  stderr.on('error', () => {}); // whoever does not want to hear need not
  return {
    write: (text) => void (stop.signal.aborted || stdout.write(text)),
    print: (line) => void (stop.signal.aborted || stdout.write(`${line}\n`)),
    note: (line) => void stderr.write(`${line}\n`),
    draw: (text) => void stderr.write(text),
    paint: paintWith(hasColours(stdout.isTTY === true, env)),
    notePaint: paintWith(hasColours(stderr.isTTY === true, env)),
    isTerminal: stdout.isTTY === true,
    isNoteTerminal: stderr.isTTY === true,
    get columns() {
      return (stdout.isTTY ? stdout.columns : stderr.columns) || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    signal: stop.signal,
    env,
  };
}
