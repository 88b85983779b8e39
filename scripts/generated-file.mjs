/**
 * How `scripts/generate-*.mjs` read their facts and write what they make of them: from `recorded/spec/`, and into a folder
 * called `generated`, under a header that names the script.
 *
 * With `--check` nothing is written: a file that is not what the script makes ends it with 1, so `npm run check` finds
 * both a file edited by hand and facts whose code was not made anew.
 */
import '../bin/node-version.cjs';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { recorded } from './recorded-suite.mjs';
import { root } from './setup.mjs';

/** The facts `recorded/spec/NAME.json`. */
export function readFacts(name) {
  return JSON.parse(readFileSync(join(recorded, 'spec', `${name}.json`), 'utf8'));
}

/** `path` from the root of the repository. */
export function writeGenerated(path, text) {
  const file = join(root, path);
  if (!dirname(path).endsWith('/generated')) throw new Error(`Cannot generate ${path}: its folder is not "generated"`);
  if (process.argv.includes('--check')) {
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
    console.error(`${path} is not what ${process.argv[1].slice(root.length + 1)} makes: run it without --check`);
    process.exit(1);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
