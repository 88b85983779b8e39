#!/usr/bin/env node
/**
 * The command line: one program, a file or folder per verb in commands/. Logs go to stderr, answers to stdout.
 *
 * A verb is loaded only when it runs: help and mistakes are answered at once. Alone, `longwatch` prints its help.
 */
import * as module from 'node:module';
import { Command } from 'commander';
import { addVerbs } from './verbs.ts';

// Where Node can (22 and newer), compiled code is kept for the next start.
(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();

// What lmdb could encode objects with is not used, and need not be loaded. Not where we are a library: others may use it.
process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED ??= 'true';

// By name: where this file lies in the package is up to the build.
const { version, description } = module.createRequire(import.meta.url)('longwatch/package.json');

const program = new Command('longwatch')
  .description(description)
  .version(version)
  // 2: it was called the wrong way, and will not do better the next time; 1: it could not do it.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .showHelpAfterError('(longwatch COMMAND --help lists what there is)')
  .addHelpText('after', '\nStart with `longwatch serve`, and in another terminal `longwatch watch pods -A`.');
await addVerbs(program, process.argv.slice(2));

if (process.argv.length <= 2) program.outputHelp();
else await program.parseAsync();
