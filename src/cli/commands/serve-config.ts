/**
 * Flags from a file: `--config FILE`, a mapping of flags without their dashes to values, in YAML or JSON.
 *
 *     secure-port: 6443
 *     etcd-servers: [http://127.0.0.1:2379]
 *     authorization-mode: RBAC
 *
 * A flag on the command line counts more. Values pass the very checks of the flags, and a name that is no flag is refused,
 * with the file in the sentence.
 */
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, type Option } from 'commander';

export async function applyConfigFile(command: Command, file: string): Promise<void> {
  const settings = await readSettings(file);
  const options = new Map(command.options.map((option) => [option.long?.replace(/^--/, '') ?? '', option]));
  for (const [name, value] of Object.entries(settings)) {
    const option = options.get(name);
    if (!option || name === 'config')
      throw new InvalidArgumentError(
        `${JSON.stringify(file)}: "${name}" is no flag of ${command.name()}; longwatch ${command.name()} --help lists them.`,
      );
    if (command.getOptionValueSource(option.attributeName()) === 'cli') continue;
    command.setOptionValueWithSource(option.attributeName(), parsedValue(option, value, name, file), 'config');
  }
}

async function readSettings(file: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (err) {
    throw new InvalidArgumentError(`--config ${JSON.stringify(file)} cannot be read: ${(err as Error).message}.`);
  }
  const { load } = await import('js-yaml');
  let settings: unknown;
  try {
    settings = text.trim() === '' ? {} : load(text, { maxAliases: 100, maxDepth: 20 });
  } catch (err) {
    throw new InvalidArgumentError(`--config ${JSON.stringify(file)} is no YAML: ${(err as Error).message}.`);
  }
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw new InvalidArgumentError(`--config ${JSON.stringify(file)} is no mapping of flags to values.`);
  return settings as Record<string, unknown>;
}

function parsedValue(option: Option, value: unknown, name: string, file: string): unknown {
  const isPlain = (one: unknown) => ['string', 'number', 'boolean'].includes(typeof one);
  if (!isPlain(value) && !(Array.isArray(value) && value.every(isPlain)))
    throw new InvalidArgumentError(`${JSON.stringify(file)}: "${name}" takes a text, a number, true, false or a list.`);
  if (!option.required && !option.optional) return value === true || value === 'true'; // a flag without a value
  const text = Array.isArray(value) ? value.join(',') : String(value);
  if (!option.parseArg) return text;
  try {
    return option.parseArg(text, undefined as never);
  } catch (err) {
    throw new InvalidArgumentError(`${JSON.stringify(file)}: "${name}": ${(err as Error).message}`);
  }
}
