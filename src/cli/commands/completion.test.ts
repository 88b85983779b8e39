import { spawnSync } from 'node:child_process';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addAllVerbs, VERBS } from '../verbs.ts';
import { completionScript, completionsOf } from './completion.ts';

const program = new Command('longwatch');
await addAllVerbs(program);
const completions = completionsOf(program);

/** What bash offers after these words. */
function offered(...words: string[]): string[] {
  const script = `${completionScript('bash', completions)}
COMP_WORDS=(longwatch ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_longwatch; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion', () => {
  it('the list of verbs says of each what it says of itself', () => {
    expect(program.commands.map((command) => command.name())).toEqual(VERBS.map(({ name }) => name));
  });

  it('knows every verb and every flag of each', () => {
    expect(completions.get('')?.words.map(({ text }) => text)).toEqual(
      expect.arrayContaining(VERBS.map(({ name }) => name)),
    );
    expect(completions.get('snapshot save')?.words.map(({ text }) => text)).toContain('--endpoints');
  });

  it('bash offers verbs, verbs of verbs, choices and flags', () => {
    expect(offered('ser')).toEqual(['serve']);
    expect(offered('snapshot', 'sa')).toEqual(['save']);
    expect(offered('completion', 'fi')).toEqual(['fish']);
    expect(offered('snapshot', 'save', '--end')).toEqual(['--endpoints']);
    expect(offered('watch', 'pods', '--field')).toEqual(['--field-selector']);
  });

  it.each([
    ['zsh', '#compdef longwatch'],
    ['fish', "complete -c longwatch -n '__fish_use_subcommand' -f -a watch"],
  ] as const)('%s has a script with the same words', (shell, line) => {
    const script = completionScript(shell, completions);
    expect(script).toContain(line);
    for (const { name } of VERBS) expect(script).toContain(name);
  });
});
