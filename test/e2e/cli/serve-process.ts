/** `longwatch serve` with a server that only listens: run by serve.test.ts. `HANG` makes closing take for ever. */
import { createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { addServeCommand } from '../../../src/cli/commands/serve.ts';

const program = new Command('longwatch');
addServeCommand(program, async ({ dataDir }) => {
  const server = createServer().listen(0, '127.0.0.1');
  return {
    url: 'https://127.0.0.1:1',
    kubeconfigPath: `${dataDir}/admin.kubeconfig`,
    connectInProcess: () => new PassThrough(),
    etcdUrls: [],
    workers: () => [],
    joined: Promise.resolve(),
    reload: () => process.stderr.write('reloaded\n'),
    close: () =>
      process.env.HANG
        ? new Promise(() => {})
        : new Promise((resolve) => {
            server.close(() => resolve());
          }),
  };
});
await program.parseAsync(process.argv.slice(2), { from: 'user' });
