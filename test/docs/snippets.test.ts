/**
 * Code in the documents compiles as it stands, each block as a module of its own, against the doors of the package; a
 * program whose output stands below it prints just that.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

type Snippet = { readonly file: string; readonly place: string; readonly kind: string; readonly text: string };

/** Blocks that are fenced with a language. */
function snippetsOf(document: string): Snippet[] {
  const found: Snippet[] = [];
  let block: { readonly line: number; readonly kind: string; readonly lines: string[] } | undefined;
  for (const [index, line] of readFileSync(join(ROOT, document), 'utf8').split('\n').entries()) {
    const fence = /^```(\w*)$/.exec(line);
    if (block && fence) {
      const file = `${document.replaceAll(/\W/g, '-')}-${block.line}.mts`;
      const place = `${document}:${block.line}`;
      if (block.kind) found.push({ file, place, kind: block.kind, text: `${block.lines.join('\n')}\n` });
      block = undefined;
    } else if (block) block.lines.push(line);
    else if (fence) block = { line: index + 1, kind: fence[1]!, lines: [] };
  }
  return found;
}

/** A folder inside the tree, so that packages are found, with a project that leads to the sources. */
function folderOf(snippets: readonly Snippet[]): Disposable & { readonly path: string } {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const path = mkdtempSync(join(ROOT, '.cache', 'snippets-'));
  for (const { file, text } of snippets) writeFileSync(join(path, file), `${text}export {};\n`);
  const compilerOptions = {
    ...{ composite: false, declaration: false, sourceMap: false, isolatedDeclarations: false, noEmit: true },
    ...{ rewriteRelativeImportExtensions: false, allowImportingTsExtensions: true, rootDir: '../..' },
    paths: {
      'longwatch/client/*': ['../../src/client/*.ts'],
      'longwatch/controller/*': ['../../src/controller/*.ts'],
      'longwatch/*': ['../../src/*/index.ts'],
    },
  };
  const project = { extends: '../../tsconfig.base.json', compilerOptions, include: ['*.mts'] };
  writeFileSync(join(path, 'tsconfig.json'), JSON.stringify(project));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

it('code in the documents compiles as it stands', { timeout: 120_000 }, () => {
  // Those in js have types that only a reader sees.
  const snippets = DOCUMENTS.flatMap(snippetsOf).filter(({ kind }) => kind === 'ts');
  expect(snippets.length).toBeGreaterThan(3);
  using folder = folderOf(snippets);
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', folder.path, '--pretty', 'false'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const faults = `${stdout}${stderr}`
    .split('\n')
    .filter((line) => line.includes('error'))
    .map((line) => {
      const snippet = snippets.find(({ file }) => line.includes(file));
      return snippet ? line.replace(/^.*?\((\d+),\d+\)/, `${snippet.place}, line $1 of the block`) : line;
    });
  expect(faults).toEqual([]);
});

it('the program of the store prints what stands below it', { timeout: 60_000 }, () => {
  const snippets = snippetsOf('docs/store.md');
  const at = snippets.findIndex(({ kind, text }) => kind === 'js' && text.includes('restoreEmbeddedStore'));
  const [program, output] = snippets.slice(at, at + 2);
  using folder = folderOf([program!]);
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(folder.path, 'tsconfig.json') };
  const args = ['--import', 'tsx', join(folder.path, program!.file)];
  const { stdout } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' });
  expect(output).toMatchObject({ kind: 'text', text: stdout });
});
