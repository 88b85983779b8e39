/** Runs a program to its end, with bounded output and time. Throws if it could not be started or had to be stopped. */
import type { ChildProcess } from 'node:child_process';

export type ProgramResult = {
  /** Its exit code as text, or the name of the signal that ended it. */
  readonly exit: string;
  readonly stdout: string;
  /** The end of it; empty if it went to the terminal. */
  readonly stderr: string;
};

export type ProgramOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** It gets our stdin and stderr. */
  readonly isInteractive: boolean;
  /** 0 is no limit. */
  readonly timeoutMs: number;
};

const MAX_OUTPUT_BYTES = 1024 * 1024;
const STDERR_TAIL_BYTES = 2048;

export async function runProgram(
  command: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramResult> {
  const { spawn } = await import('node:child_process');
  const talk = options.isInteractive ? 'inherit' : undefined;
  const child: ChildProcess = spawn(command, [...args], {
    env: options.env as NodeJS.ProcessEnv,
    stdio: [talk ?? 'ignore', 'pipe', talk ?? 'pipe'],
    windowsHide: true,
  });
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    let bytes = 0;
    let stderr = Buffer.alloc(0);
    const stop = (why: string) => {
      child.kill('SIGKILL');
      reject(new Error(why));
    };
    const timer =
      options.timeoutMs > 0
        ? setTimeout(() => stop(`it took more than ${options.timeoutMs} ms`), options.timeoutMs)
        : undefined;
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) stop(`it wrote more than ${MAX_OUTPUT_BYTES} bytes`);
      else stdout.push(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_TAIL_BYTES);
    });
    child.once('error', (err) => {
      clearTimeout(timer);
      reject(err);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({
        exit: signal ?? String(code),
        stdout: Buffer.concat(stdout).toString('utf8'),
        stderr: stderr.toString('utf8'),
      });
    });
  });
}
