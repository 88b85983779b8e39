/** `longwatch generate types`: its flags. */
import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { SOURCE_FILE } from '../../../files/private-files.ts';
import { addClusterOptions, type ClusterFlags } from '../../cluster/cluster-flags.ts';
import { EXIT, runVerb, UsageError, type Verb, VerbError } from '../../terminal/run-verb.ts';
import { definitionsIn, definitionsOfCluster } from './crd-sources.ts';
import { generateTypes } from './generate-types.ts';

export type GenerateTypesFlags = ClusterFlags & {
  readonly file?: string[];
  readonly fromCluster?: boolean;
  readonly group?: string[];
  readonly output?: string;
  readonly check?: boolean;
};

export function addGenerateCommand(program: Command): void {
  const generate = program.command('generate').description('write TypeScript from what a cluster or a file defines');
  const types = generate
    .command('types')
    .description('types, tokens and validators of custom kinds')
    .option('-f, --file <file...>', 'definitions as kubectl applies them; - is stdin')
    .option('--from-cluster', 'those that are installed, instead of files')
    .option('--group <name...>', 'only kinds of these groups')
    .option('-o, --output <file>', 'instead of stdout')
    .option('--check', 'write nothing: end with 3 if the file of --output would change')
    .addHelpText(
      'after',
      `
Examples:
  longwatch generate types -f config/crd.yaml -o src/widgets.ts
  longwatch generate types -f config/crd.yaml -o src/widgets.ts --check      for CI
  longwatch generate types --from-cluster --group cert-manager.io > src/cert-manager.ts`,
    );
  addClusterOptions(types, { hasNamespace: false }).action((flags: GenerateTypesFlags) => runVerb(generateVerb(flags)));
}

export function generateVerb(flags: GenerateTypesFlags): Verb {
  const { file = [], fromCluster = false, group, output, check = false } = flags;
  return async (io) => {
    if (file.length > 0 === fromCluster) throw new UsageError('Give either files (-f) or --from-cluster.');
    if (check && output === undefined) throw new UsageError('--check compares with the file of --output: name one.');
    const all = fromCluster ? await definitionsOfCluster(flags, io.signal) : await definitionsIn(file);
    const wanted = group ? all.filter(({ spec }) => group.includes(spec.group)) : all;
    if (wanted.length === 0) {
      const groups = [...new Set(all.map(({ spec }) => spec.group))].sort();
      throw new VerbError(
        `Cannot generate types: no definition is of ${group ? `group ${group.join(' or ')}` : 'any group'}`,
        groups.length > 0 ? `There are: ${groups.join(', ')}.` : 'Install a CustomResourceDefinition first.',
      );
    }
    const text = generateTypes(wanted);
    if (output === undefined) return void io.write(text);
    const before = await readFile(output, 'utf8').catch((err: NodeJS.ErrnoException) => {
      if (err.code === 'ENOENT') return undefined;
      throw err;
    });
    if (before === text) return void io.note(`${output} is up to date`);
    if (check) {
      io.note(`${output} is ${before === undefined ? 'not there' : 'out of date'}`);
      io.note(`Next: longwatch generate types${file.map((one) => ` -f ${one}`).join('')} -o ${output}`);
      return EXIT.found;
    }
    await writeFile(output, text, { mode: SOURCE_FILE });
    io.note(`${output} has ${wanted.length === 1 ? 'one kind' : `${wanted.length} kinds`}`);
    return undefined;
  };
}
