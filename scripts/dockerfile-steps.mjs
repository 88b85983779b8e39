/**
 * `node scripts/dockerfile-steps.mjs FILE FOLDER`: runs the steps of a Dockerfile in an empty folder, for machines without a
 * daemon: every stage is a folder of its own in FOLDER, commands run with its WORKDIR as theirs. Prints the last stage as
 * JSON: where it lies, and what the container would run.
 *
 * Always true: only what `.dockerignore` lets in is copied; a step that it does not understand, or that fails, ends it with 1.
 * What a folder cannot show is left out: users, ports, volumes, and folders outside of WORKDIR.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { root, say } from './setup.mjs';

const [file, folder] = process.argv.slice(2).map((path) => resolve(path));
if (!file || !folder) fail('Give a Dockerfile and an empty folder');
if (existsSync(folder) && readdirSync(folder).length > 0) fail(`"${folder}" is not empty`);

const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
const letIn = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
const kept = (path) => !/\.test\.ts$|\.tsbuildinfo$/.test(path);

const stages = new Map();
let stage;
const steps = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'));
for (const step of steps) {
  const [instruction, ...words] = step.trim().split(/\s+/);
  const rest = step.trim().slice(instruction.length).trim();
  switch (instruction) {
    case 'FROM': {
      const name = words[1] === 'AS' ? words[2] : `stage-${stages.size}`;
      stage = { folder: join(folder, name), workdir: '/', env: {} };
      stages.set(name, stage);
      break;
    }
    case 'WORKDIR':
      stage.workdir = rest;
      mkdirSync(placeOf(stage, rest), { recursive: true });
      break;
    case 'ENV':
      Object.assign(stage.env, Object.fromEntries(words.map((word) => word.split('='))));
      break;
    case 'COPY':
      copy(words);
      break;
    case 'RUN':
      if (isElsewhere(rest)) say(`left out, as it is outside of the folder: ${rest}`);
      else execute(rest);
      break;
    case 'ENTRYPOINT':
    case 'CMD':
      stage[instruction.toLowerCase()] = JSON.parse(rest);
      break;
    case 'USER':
    case 'VOLUME':
    case 'EXPOSE':
    case 'STOPSIGNAL':
    case 'HEALTHCHECK':
      break;
    default:
      fail(`Cannot run the step "${step}": it is not understood`);
  }
}
const { entrypoint, cmd, env } = stage;
console.log(JSON.stringify({ folder: placeOf(stage, stage.workdir), entrypoint, cmd, env }));

function placeOf({ folder: place }, path) {
  return join(place, path);
}

function copy(words) {
  const from = words[0].startsWith('--from=') ? stages.get(words[0].slice('--from='.length)) : undefined;
  const paths = words.slice(from ? 1 : 0);
  const target = join(placeOf(stage, stage.workdir), paths.pop());
  for (const path of paths) {
    if (!from && !letIn.includes(path)) fail(`Cannot copy "${path}": .dockerignore keeps it out`);
    const source = from ? placeOf(from, path) : join(root, path);
    const isInto = paths.length > 1 || (!from && words.at(-1).endsWith('/'));
    const place = isInto ? join(target, path) : target;
    mkdirSync(dirname(place), { recursive: true });
    cpSync(source, place, { recursive: true, filter: kept });
  }
}

function isElsewhere(command) {
  return / \/(var|etc|tmp)\//.test(command);
}

function execute(command) {
  say(command);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...npmSettings(), ...stage.env };
  const { status } = spawnSync('/bin/sh', ['-c', command], {
    cwd: placeOf(stage, stage.workdir),
    stdio: ['ignore', 2, 2],
    env,
  });
  if (status !== 0) fail(`The step "${command}" failed`);
}

/** Which registry npm asks is a matter of this machine. */
function npmSettings() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^npm_config_(registry|cafile)$/i.test(name)),
  );
}

function fail(why) {
  console.error(`dockerfile-steps: ${why}`);
  process.exit(1);
}
