/**
 * Whether a text that somebody sends can make a regular expression of ours slow: every literal in `src/` is handed to
 * recheck, which finds those that take more than linear time and the text that shows it.
 *
 * What it finds has to be written otherwise. Where the text is short for certain, a comment on the line before says how
 * long it can be and why, `// at most 40 characters: ...`, and the worst of that must still be next to nothing; an
 * exponential one is never let through. A pattern that is put together at run time cannot be looked at: those are listed
 * here, each with what keeps it safe.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { root, say } from './setup.mjs';

/** Steps that the worst text of an allowed length may take. */
const MOST_STEPS = 10_000_000;
/** Of the checker, for one pattern. Its limits are steps and not times, so that a machine with other work finds the same. */
const PATIENCE = { timeout: 120_000, seedingTimeout: null, incubationTimeout: null, attackTimeout: null };

/** `new RegExp`, by file: what it is made of. */
const BUILT = {
  'src/client/definitions/schema-validator.ts': 'the pattern of a definition that the author of the program has chosen',
  'src/client/lazy/scan-event.ts': 'constants of the file, where each piece ends at a quote it cannot pass',
  'src/schemas/patterns/character-set.ts': 'the name of one class of characters, on a text of our own',
};

const require = createRequire(import.meta.url);
// The native build is the same checker, faster; where there is none for this machine, the one in JavaScript.
process.env.RECHECK_BACKEND = hasNative() ? 'native' : 'pure';
const { check } = require('recheck');

const faults = [];
const patterns = new Map();
for (const file of sources()) collect(file);
for (const one of patterns.values()) await judge(one);
if (faults.length > 0) {
  for (const fault of faults.sort()) console.error(fault);
  process.exit(1);
}
say(`${patterns.size} regular expressions are linear, or have a short text`);
process.exit(0); // the checker keeps a process of its own

function sources() {
  return readdirSync(join(root, 'src'), { recursive: true })
    .filter((name) => name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name))
    .map((name) => join('src', name));
}

function collect(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`Cannot read ${file}: ${errors[0].message}`);
  const lineOf = (at) => text.slice(0, at).split('\n').length;
  const capOn = new Map();
  for (const { value, end } of comments) {
    const length = /\bat most ([0-9_]+) characters: \S/.exec(value)?.[1];
    if (length) capOn.set(lineOf(end), Number(length.replaceAll('_', '')));
  }
  const built = ({ callee, start }) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp' && !(file in BUILT))
      faults.push(`${file}:${lineOf(start)}: a pattern put together at run time: write it as a literal`);
  };
  const visitor = new Visitor({
    Literal({ regex, start }) {
      if (!regex) return;
      const line = lineOf(start);
      const key = `/${regex.pattern}/${regex.flags}`;
      const cap = capOn.get(line) ?? capOn.get(line - 1) ?? Number.POSITIVE_INFINITY;
      const known = patterns.get(key);
      const isWeaker = !known || cap > known.cap;
      patterns.set(key, isWeaker ? { ...regex, key, cap, place: `${file}:${line}` } : known);
    },
    NewExpression: built,
    CallExpression(node) {
      built(node);
      const { callee, arguments: args, start } = node;
      const isMatch =
        callee.type === 'MemberExpression' && ['match', 'matchAll', 'search'].includes(callee.property.name ?? '');
      const isText = args[0]?.type === 'TemplateLiteral' || typeof args[0]?.value === 'string';
      if (isMatch && isText) faults.push(`${file}:${lineOf(start)}: a text that becomes a pattern: write a literal`);
    },
  });
  visitor.visit(program);
}

async function judge({ pattern, flags, key, cap, place }) {
  const found = await check(pattern, flags, { ...PATIENCE, randomSeed: 1 });
  if (found.status === 'safe') return;
  if (found.status === 'unknown') {
    const why = found.error?.kind ?? 'nothing';
    faults.push(`${place}: ${key} cannot be judged (${why}): write it in a simpler way, or as code`);
    return;
  }
  const { type, degree = Number.POSITIVE_INFINITY, summary } = found.complexity;
  if (type === 'polynomial' && cap ** degree <= MOST_STEPS) return;
  faults.push(`${place}: ${key} is slow (${summary}) on ${shown(found.attack.pattern)}`);
}

function shown(attack) {
  return attack.length > 120 ? `${attack.slice(0, 120)}...` : attack;
}

function hasNative() {
  try {
    require.resolve(
      `recheck-${process.platform === 'darwin' ? 'macos' : process.platform}-${process.arch}/package.json`,
    );
    return true;
  } catch {
    return false;
  }
}
