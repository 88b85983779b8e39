/** Folders of tests and benchmarks share only what lies in test/support and bench/lib; those two know none of the others. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The page of benchmarks, and the last lines of a test run: each lists or reports on all. */
const ABOVE_ALL = ['bench/main.ts', 'test/closing-reporter.ts'];

const files = ['src', 'test', 'bench'].flatMap((folder) =>
  readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => posix.join(folder, path)),
);

it('no folder of tests or benchmarks imports another, but for what they share', () => {
  expect(files.length).toBeGreaterThan(500);
  const crossing = files
    .filter((file) => !ABOVE_ALL.includes(file))
    .flatMap((file) => importsOf(file).map((imported) => ({ file, imported })))
    .filter(({ file, imported }) => !mayImport(file, imported));
  expect(crossing.map(({ file, imported }) => `${file} imports ${imported}`)).toEqual([]);
});

it('every end-to-end test and every test with faults lies in a room', () => {
  expect(files.filter((file) => /^test\/(e2e|faults)\/[^/]*$/.test(file))).toEqual([]);
});

function importsOf(file: string): string[] {
  const text = readFileSync(`${ROOT}${file}`, 'utf8');
  return [...text.matchAll(/(?:from|import|import\(|new URL\() ?'(\.[^']*)'/g)].map(([, path]) =>
    posix.join(posix.dirname(file), path!),
  );
}

function mayImport(file: string, imported: string): boolean {
  if (!/^(test|bench)\//.test(imported)) return true;
  return roomOf(imported) === roomOf(file) || roomOf(imported) === sharedRoomOf(imported);
}

/** `test/e2e`, `bench/store`; `src` is one. */
function roomOf(path: string): string {
  return path.startsWith('src/') ? 'src' : path.split('/').slice(0, 2).join('/');
}

function sharedRoomOf(imported: string): string {
  return imported.startsWith('test/') ? 'test/support' : 'bench/lib';
}
