/**
 * `longwatch serve` as a child of a script, on a free port, until it is told to stop. Without controllers: what is played
 * against it was recorded on a server that has none.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { program } from './setup.mjs';

/**
 * Resolves when it is ready. `isDetached`: in a group of its own, so that Ctrl-C is for others first. What it prints
 * besides its ready line goes to our stderr.
 */
export async function startServer(dataDir, flags, { isDetached = false } = {}) {
  const args = [program, 'serve', '--secure-port', '0', '--data-dir', dataDir, '--controllers=-*', ...flags];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: isDetached });
  const exited = once(child, 'exit');
  const [line] = await Promise.race([once(child.stdout, 'data'), exited]);
  const kubeconfig = /^longwatch ready \S+ kubeconfig=(.+) in \d+ ms/.exec(String(line))?.[1];
  if (!kubeconfig) throw new Error(`Cannot start the server: ${line}`);
  return {
    kubeconfig,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
