#!/usr/bin/env node
/**
 * The command line: one program, a file per verb in commands/. Logs go to stderr, answers to stdout.
 *
 * A verb loads what it needs only when it runs: help and mistakes are answered at once. Alone, `longwatch` prints its
 * help.
 */
import * as module from 'node:module';
import { Command } from 'commander';
import { addControllersCommand } from './commands/controllers.ts';
import { addServeCommand } from './commands/serve.ts';

// Where Node can (22 and newer), compiled code is kept for the next start.
(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();

// By name: where this file lies in the package is up to the build.
const { version, description } = module.createRequire(import.meta.url)('longwatch/package.json');

const program = new Command('longwatch')
  .description(description)
  .version(version)
  // 2: it was called the wrong way, and will not do better the next time; 1: it could not do it.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .showHelpAfterError('(longwatch COMMAND --help lists what there is)');
addServeCommand(program);
addControllersCommand(program);

if (process.argv.length <= 2) program.outputHelp();
else await program.parseAsync();
