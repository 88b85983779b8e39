/**
 * `node scripts/refresh-suites.mjs FOLDER`: takes what was read off a real kube-apiserver into `recorded/`, anew and whole:
 * the suites `conformance` and `fields` as they are, and of `spec` the facts that generators read.
 *
 * Facts are written with one entry to a line, so that a change of one kind shows as a change of one line. After it,
 * `npm run check` says which generated files are stale, and `--update` of each suite's script writes its list anew.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recorded } from './recorded-suite.mjs';
import { say } from './setup.mjs';

const SUITES = ['conformance', 'fields'];
const FACTS = ['kinds', 'bootstrap', 'protobuf-fields'];

const [from] = process.argv.slice(2);
if (!from) throw new Error('Cannot refresh: name the folder that holds conformance, fields and spec');
for (const name of [...SUITES, 'spec'])
  if (!existsSync(join(from, name))) throw new Error(`Cannot refresh: there is no folder ${join(from, name)}`);

for (const suite of SUITES) {
  rmSync(join(recorded, suite), { recursive: true, force: true });
  copyFolder(join(from, suite), join(recorded, suite));
}
mkdirSync(join(recorded, 'spec'), { recursive: true });
for (const name of FACTS) {
  const facts = JSON.parse(readFileSync(join(from, 'spec', `${name}.json`), 'utf8'));
  writeFileSync(join(recorded, 'spec', `${name}.json`), `${lineByLine(facts)}\n`);
}
say(`took ${[...SUITES, ...FACTS].join(', ')} into ${recorded}`);

/** Contents only: the modes of files are ours. */
function copyFolder(source, target) {
  mkdirSync(target, { recursive: true });
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [of, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) copyFolder(of, to);
    else writeFileSync(to, readFileSync(of));
  }
}

/** JSON in which every entry of every table is a line. */
function lineByLine(facts) {
  const tables = Object.entries(facts).map(([name, table]) => `${JSON.stringify(name)}: ${linesOf(table)}`);
  return `{\n${tables.join(',\n')}\n}`;
}

function linesOf(table) {
  if (Array.isArray(table)) return `[\n${table.map((entry) => JSON.stringify(entry)).join(',\n')}\n]`;
  if (typeof table !== 'object' || table === null) return JSON.stringify(table);
  const lines = Object.entries(table).map(([key, entry]) => `${JSON.stringify(key)}: ${JSON.stringify(entry)}`);
  return `{\n${lines.join(',\n')}\n}`;
}
