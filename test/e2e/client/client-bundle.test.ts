/** What bundlers make of the client: a program with everything in it runs, or says in a sentence why it cannot. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { startTestServer } from '../../../src/testing/index.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const client = fileURLToPath(new URL('../../../src/client/index.ts', import.meta.url));
const program = `
  import { connect, corev1 } from ${JSON.stringify(client)};
  async function main() {
    const client = await connect({ paths: [process.argv[2]] });
    const informer = client.informer(corev1.namespaces);
    await informer.synced();
    console.log('synced', informer.get('default').metadata.name);
    await informer.close();
    await client.close();
  }
  main().catch((err) => process.stdout.write(err.name + ' ' + err.message + '\\n', () => process.exit()));
`;

it('a default bundle by esbuild runs; one as an ES module says what to do', async () => {
  await using server = await startTestServer();
  await using folder = await temporaryDir();
  const run = async (format: 'cjs' | 'esm', name: string) => {
    const outfile = join(folder.path, name);
    const stdin = {
      contents: program,
      loader: 'ts' as const,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    };
    // From the sources, so for this Node; what is published is that already.
    await build({ stdin, bundle: true, platform: 'node', target: 'node20', format, outfile, logLevel: 'error' });
    const options = { timeout: 25_000 };
    return (await promisify(execFile)(process.execPath, [outfile, server.kubeconfigPath], options)).stdout;
  };
  expect(await run('cjs', 'bundle.cjs')).toBe('synced default\n');
  expect(await run('esm', 'bundle.mjs')).toMatch(
    /^ConfigError Cannot load the HTTP client: Dynamic require of .* leave "undici" outside/,
  );
});
