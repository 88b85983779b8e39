/**
 * ARCHITECTURE.md names files and folders, each where it says, and so do the other pages: what is moved or renamed is
 * moved there too.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const text = readFileSync(`${ROOT}ARCHITECTURE.md`, 'utf8');

const paths = ['.ci', 'bench', 'bin', 'deploy', 'docs', 'examples', 'recorded', 'scripts', 'src', 'test']
  .filter((folder) => existsSync(`${ROOT}${folder}`))
  .flatMap((folder) => [
    folder,
    ...readdirSync(`${ROOT}${folder}`, { recursive: true }).map((name) => `${folder}/${String(name)}`),
  ]);
const folders = paths.filter((path) => statSync(`${ROOT}${path}`).isDirectory());

/** A path, its end, or with a `*` one of several. */
function isThere(name: string): boolean {
  if (existsSync(`${ROOT}${name}`)) return true;
  const [before, after] = `/${name}`.split('*');
  if (after !== undefined) return paths.some((path) => `/${path}`.includes(before!) && path.endsWith(after));
  return paths.some((path) => `/${path}`.endsWith(`/${name}`));
}

it('every file and folder in ARCHITECTURE.md exists', () => {
  const named = [...text.matchAll(/`([^`\s<>{}]+(?:\.(?:ts|mjs|cjs|json|md|sh)|\/))`/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(200);
  const missing = [...new Set(named)].filter((name) => !name.startsWith('/') && !isThere(name.replace(/\/$/, '')));
  expect(missing).toEqual([]);
});

const pages = ['README.md', 'CONTRIBUTING.md', ...paths.filter((path) => /^docs\/.*\.md$/.test(path))];

it.each(pages)('every path in %s exists', (page) => {
  const named = readFileSync(`${ROOT}${page}`, 'utf8').matchAll(
    /`((?:src|test|bench|scripts|deploy|examples|docs|recorded)\/[\w./*-]+)`/g,
  );
  const missing = [...named].map(([, name]) => name!.replace(/\/$/, '')).filter((name) => !isThere(name));
  expect(missing).toEqual([]);
});

it('a file that is named behind another in a cell lies in the folder of that one', () => {
  const astray = text.split('\n').flatMap((line) => {
    const [, cell = ''] = /^\| (`[^|]*\/[^|]*\.ts`[^|]*)\|/.exec(line) ?? [];
    const [first = '', ...others] = [...cell.matchAll(/`([^`]+\.ts)`/g)].map(([, name]) => name!);
    const folder = first.slice(0, first.lastIndexOf('/') + 1);
    return others.map((name) => (name.includes('/') ? name : `${folder}${name}`)).filter((name) => !isThere(name));
  });
  expect(astray).toEqual([]);
});

const layers = ['api', 'store', 'server', 'client', 'controller', 'controllers', 'page', 'cli', 'testing'];

describe.each(layers)('the rooms of the %s', (layer) => {
  const part = text.split(new RegExp(`^## Rooms of the ${layer}(?: layer)?$`, 'm'))[1]!.split('\n## ')[0]!;
  const rows = [...part.matchAll(/^\| `([^`]+)\/` +\|.*\| ([^|]*)\|$/gm)].map(([, room, begin]) => ({
    room: room!,
    begin: begin!,
  }));

  it('are all of them in its table', () => {
    const there = folders.filter((path) => path.startsWith(`src/${layer}/`) && path.split('/').length === 3);
    const listed =
      rows.length > 0 ? rows.map(({ room }) => room) : [...part.matchAll(/`([a-z-]+)\//g)].map(([, room]) => room!);
    expect(there.map((path) => path.slice(`src/${layer}/`.length)).filter((room) => !listed.includes(room))).toEqual(
      [],
    );
  });

  it('begin with files that lie in them', () => {
    for (const { room, begin } of rows)
      for (const [, file] of begin.matchAll(/`([^`]+\.ts)`/g)) {
        const within = paths.some((path) => path.startsWith(`src/${layer}/${room}/`) && path.endsWith(`/${file}`));
        expect([room, file, within]).toEqual([room, file, true]);
      }
  });
});
