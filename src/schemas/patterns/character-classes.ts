/** The classes of characters that patterns name: `\d`, `\s`, `\w`, `[:alpha:]` and what dots take. */
import { allBut, type CharacterSet, setOf } from './character-set.ts';

const range = (...ends: string[]) => setOf(ends.flatMap((two) => [two.charCodeAt(0), two.charCodeAt(1)]));
const digits: CharacterSet = range('09');
const wordCharacters: CharacterSet = range('09', 'AZ', 'az', '__');

/** By the small letter; the large one is everything else. */
export const perlClasses: ReadonlyMap<string, CharacterSet> = new Map([
  ['d', digits],
  ['s', range('\t\n', '\f\r', '  ')],
  ['w', wordCharacters],
]);

export const posixClasses: ReadonlyMap<string, CharacterSet> = new Map([
  ['alnum', range('09', 'AZ', 'az')],
  ['alpha', range('AZ', 'az')],
  ['ascii', range('\0\x7f')],
  ['blank', range('\t\t', '  ')],
  ['cntrl', range('\0\x1f', '\x7f\x7f')],
  ['digit', digits],
  ['graph', range('!~')],
  ['lower', range('az')],
  ['print', range(' ~')],
  ['punct', range('!/', ':@', '[`', '{~')],
  ['space', range('\t\r', '  ')],
  ['upper', range('AZ')],
  ['word', wordCharacters],
  ['xdigit', range('09', 'AF', 'af')],
]);

export const anyButNewLine: CharacterSet = allBut([10, 10]);

/** Whether a character belongs to a word, as `\b` sees it. */
export function isWordCode(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);
}
