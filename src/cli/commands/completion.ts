/**
 * `longwatch completion SHELL`: a script for the shell, made from the verbs as they are, so that it cannot name what is
 * not there. It completes verbs, their own verbs, and flags; after a flag that takes a file the shell does what it does.
 */
import { Argument, Command } from 'commander';
import { runVerb } from '../terminal/run-verb.ts';

type Shell = 'bash' | 'zsh' | 'fish';
/** What can follow a line of verbs. */
export type Completions = ReadonlyMap<string, { readonly words: readonly Word[] }>;
type Word = { readonly text: string; readonly about: string };

/** `addAll` adds every verb to a program. */
export function addCompletionCommand(program: Command, addAll: (program: Command) => Promise<void>): void {
  program
    .command('completion')
    .description('print the completion script for a shell')
    .addArgument(new Argument('<shell>', 'which').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Examples:
  source <(longwatch completion bash)          in ~/.bashrc
  source <(longwatch completion zsh)           in ~/.zshrc, after compinit
  longwatch completion fish | source           in ~/.config/fish/config.fish`,
    )
    .action((shell: Shell) =>
      runVerb(async (io) => {
        const whole = new Command('longwatch');
        await addAll(whole);
        io.write(completionScript(shell, completionsOf(whole)));
      }),
    );
}

/** By the verbs typed so far, joined by blanks: '' is the beginning. */
export function completionsOf(program: Command): Completions {
  const found = new Map<string, { words: Word[] }>();
  const visit = (command: Command, path: string) => {
    const words = [
      ...command.commands.map((one) => ({ text: one.name(), about: one.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((text) => ({ text, about: description })),
      ),
      ...command.options.map(({ long, short, description }) => ({ text: long ?? short ?? '', about: description })),
      { text: '--help', about: 'what there is' },
    ];
    found.set(path, { words });
    for (const one of command.commands) visit(one, path === '' ? one.name() : `${path} ${one.name()}`);
  };
  visit(program, '');
  return found;
}

export function completionScript(shell: Shell, completions: Completions): string {
  if (shell === 'fish') return fishScript(completions);
  const cases = [...completions].map(([path, { words }]) => {
    const texts = words.map(({ text }) => text).join(' ');
    return `    '${path}') offer='${texts}' ;;`;
  });
  const paths = [...completions.keys()].filter((path) => path !== '');
  // Not `path` or `words`: zsh has those.
  const choose = `  local at='' word candidate offer=''
  for word in "\${typed[@]}"; do
    candidate="\${at:+$at }$word"
    case "$candidate" in
      ${paths.map((path) => `'${path}'`).join('|')}) at="$candidate" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac`;
  return shell === 'bash' ? bashScript(choose) : zshScript(choose);
}

function bashScript(choose: string): string {
  return `# bash completion of longwatch
_longwatch() {
  local typed=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${choose}
  COMPREPLY=($(compgen -W "$offer" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _longwatch longwatch
`;
}

function zshScript(choose: string): string {
  return `#compdef longwatch
# zsh completion of longwatch
_longwatch() {
  local -a typed list
  typed=("\${(@)words[2,CURRENT-1]}")
${choose}
  list=(\${=offer})
  compadd -- $list
  _files
}
compdef _longwatch longwatch
`;
}

function fishScript(completions: Completions): string {
  const lines = ['# fish completion of longwatch'];
  for (const [path, { words }] of completions) {
    const verbs = path.split(' ').filter((verb) => verb !== '');
    const when =
      verbs.length === 0
        ? '__fish_use_subcommand'
        : verbs.map((verb) => `__fish_seen_subcommand_from ${verb}`).join('; and ');
    for (const { text, about } of words) {
      const what = text.startsWith('--')
        ? `-l ${text.slice(2)}`
        : text.startsWith('-')
          ? `-s ${text.slice(1)}`
          : `-f -a ${text}`;
      lines.push(`complete -c longwatch -n '${when}' ${what} -d '${about.replaceAll("'", '')}'`);
    }
  }
  return `${lines.join('\n')}\n`;
}
