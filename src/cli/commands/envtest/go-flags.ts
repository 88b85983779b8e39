/**
 * Flags as programs in Go take them: `--name=value`, `--name value`, `--switch`, and the same with one dash.
 *
 * What is no flag is an error. Whether a name without a value stands alone is known for switches only: of others the next
 * word is the value, unless it looks like a flag.
 */
export type Flag = { readonly name: string; readonly value: string };

export function* splitFlags(given: readonly string[], isSwitch: (name: string) => boolean): Generator<Flag> {
  for (let i = 0; i < given.length; i++) {
    const text = given[i]!;
    const [, name = '', equals, value = ''] = /^--?([^=]{1,200})(=?)(.*)$/s.exec(text) ?? [];
    if (name === '') throw new Error(`Cannot take "${text}": it is no flag`);
    const next = given[i + 1];
    if (equals === '=') yield { name, value };
    else if (isSwitch(name)) yield { name, value: 'true' };
    else if (next !== undefined && !next.startsWith('-')) yield { name, value: given[++i]! };
    else yield { name, value: '' };
  }
}
