/** The flags of `longwatch serve`: each is in docs/server.md, and each option of a server is read by somebody. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { addServeCommand } from '../../src/cli/commands/serve.ts';
import { addAllVerbs } from '../../src/cli/verbs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string) => readFileSync(join(root, name), 'utf8');

function flags(): string[] {
  const program = new Command();
  addServeCommand(program);
  return program.commands[0]!.options.map(({ long }) => long!).sort();
}

it('docs/server.md lists every flag of serve, and no other', () => {
  const [, table = ''] = /\n### Flags of `longwatch serve`\n([\s\S]*?)(?:\n#|$)/.exec(read('docs/server.md')) ?? [];
  const listed = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((line) => [...line.split('|')[1]!.matchAll(/`(--[a-z0-9-]+)`/g)].map(([, flag]) => flag!));
  expect(listed.sort()).toEqual(flags());
});

it('no option of a server is read by nobody', () => {
  const [, text = ''] =
    /export type ServerOptions = \{([\s\S]*?)\n\};/.exec(read('src/server/server-options.ts')) ?? [];
  const options = [...text.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name!);
  expect(options).toContain('verbosity');
  const sources = readdirSync(join(root, 'src/server'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'server-options.ts')
    .map((name) => read(join('src/server', name)))
    .join('\n');
  expect(options.filter((name) => !new RegExp(`\\b${name}\\b`).test(sources))).toEqual([]);
});

it('pages and rules for those who run it name flags that there are', async () => {
  const program = new Command();
  await addAllVerbs(program);
  const all = (command: Command): string[] => [
    ...command.options.flatMap(({ long }) => long ?? []),
    ...command.commands.flatMap(all),
  ];
  /** Of npm, systemctl and docker. */
  const others = ['--global', '--now', '--profile'];
  const known = new Set([...all(program), ...others]);
  const pages = [
    'docs/operating.md',
    'deploy/prometheus/longwatch-rules.yml',

    'docs/errors.md',
    'docs/dashboard.md',
  ];
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/(?<![\w-])--[a-z][a-z0-9-]+/g)].map(([flag]) => `${page}: ${flag}`),
  );
  expect(named.filter((name) => !known.has(name.split(': ')[1]!))).toEqual([]);
});
