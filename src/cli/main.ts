#!/usr/bin/env node
/** The command line: one program, a file per verb in commands/. Logs go to stderr, answers to stdout. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';

const { version, description } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const program = new Command('longwatch').description(description).version(version);

if (process.argv.length <= 2) program.outputHelp();
else await program.parseAsync();
