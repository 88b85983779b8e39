/**
 * What custom kinds are made of and have been slow at: paths of columns, texts of rules and patterns, and for patterns
 * and rules that do more than they look like the value that shows it.
 */
import { repeated, times } from './text-shapes.ts';

/** All formats of texts that a schema can name. */
export const FORMATS: readonly string[] = [
  ...['bsonobjectid', 'byte', 'cidr', 'creditcard', 'date', 'datetime', 'date-time', 'duration', 'email', 'hexcolor'],
  ...['hostname', 'ipv4', 'ipv6', 'isbn', 'isbn10', 'isbn13', 'mac', 'password', 'rgbcolor', 'ssn', 'uri', 'uuid'],
  ...['uuid3', 'uuid4', 'uuid5'],
];

export const jsonPaths: Readonly<Record<string, (size: number) => string>> = {
  'many names': (size) => '.a'.repeat(size / 2),
  'many spaces in an index': (size) => `.a[${' '.repeat(size)}x]`,
  'digits and spaces in an index': (size) =>
    `.a[1${' '.repeat(size / 3)}:${' '.repeat(size / 3)}1${' '.repeat(size / 3)}x`,
  'a filter that never ends': (size) => `.a[?(@.b${'a'.repeat(size)}`,
  'a filter of spaces': (size) => `.a[?(@.b${' '.repeat(size / 2)}==${' '.repeat(size / 2)}`,
  'filters in a row': (size) => '[?(@.a)]'.repeat(size / 8),
  'everything below, again and again': (size) => '..a'.repeat(size / 3),
  stars: (size) => '[*]'.repeat(size / 3),
  escapes: (size) => `.${'\\a'.repeat(size / 2)}`,
  quotes: (size) => `['${"\\'".repeat(size / 2)}`,
  braces: (size) => `{${'}'.repeat(size)}`,
};

/** Paths that are taken, as long as they may be, and do more than they look like. */
export const slowPaths: Readonly<Record<string, string>> = {
  names: '.a'.repeat(500),
  'everything below, again and again': `.spec${'..a'.repeat(8)}`,
  'a filter that looks at everything below each of everything': '..*[?(@..x)]',
  'filters in a row': `.spec.a${'[?(@.a)]'.repeat(100)}`,
  'stars in a row': `.spec${'[*]'.repeat(300)}`,
  'slices in a row': `.spec.a${'[0:]'.repeat(200)}`,
};

export const ruleTexts: Readonly<Record<string, (size: number) => string>> = {
  'a long conjunction': (size) => `${repeated(() => "self.a != '' && ", size)}true`,
  'deep brackets': (size) => `${'('.repeat(size / 2)}true${')'.repeat(size / 2)}`,
  'deep conditions': (size) => `${'true ? ('.repeat(size / 9)}true${') : false'.repeat(size / 9)}`,
  'a long text': (size) => `self.a != '${'x'.repeat(size)}'`,
  'a text of escapes': (size) => `self.a != '${'\\'.repeat(size)}'`,
  'a long list': (size) => `self.a in [${repeated((i) => `'v${i}',`, size)}'z']`,
  'full of has': (size) => repeated(() => 'has(self.a[', size),
  'full of has with spaces': (size) => `has${' '.repeat(size)}(self.a)`,
  'a chain of fields': (size) => `self${'.a'.repeat(size / 2)} == ''`,
  'a chain of additions': (size) => `${'1+'.repeat(size / 2)}1 == 1`,
  'a chain of minus signs': (size) => `${'-'.repeat(size)}1 == 1`,
  'nested loops': (size) => `${'self.list.all(x, '.repeat(size / 20)}true${')'.repeat(size / 20)}`,
  'quotes that never end': (size) => `'${'a'.repeat(size)}`,
  comments: (size) => `true //${'/'.repeat(size)}`,
};

export const patternTexts: Readonly<Record<string, (size: number) => string>> = {
  letters: (size) => 'a'.repeat(size),
  'nested repetitions': (size) => `${'('.repeat(size / 4)}a${'{1,9})'.repeat(size / 6)}`,
  'a repetition of repetitions': () => '((((a{1,100}){1,100}){1,100}){1,100}){1,100}',
  alternatives: (size) => `(${repeated((i) => `a${i}|`, size)}z)`,
  'open brackets': (size) => '('.repeat(size),
  'open classes': (size) => '['.repeat(size),
  'one large class': (size) => `[${repeated((i) => String.fromCharCode(256 + (i % 20_000)), size / 2)}]`,
  'names of classes': (size) => '\\p{Greek}'.repeat(size / 9),
  'lazy stars': (size) => `^${'a*?'.repeat(size / 3)}$`,
  stars: (size) => `^${'a*'.repeat(size / 2)}$`,
  escapes: (size) => '\\d'.repeat(size / 2),
};

/** Patterns that are slow for a backtracking engine, each with the text that shows it. */
export const slowPatterns: Readonly<Record<string, (size: number) => string>> = {
  '^(a+)+$': (size) => `${'a'.repeat(size)}!`,
  '^(a|a)*$': (size) => `${'a'.repeat(size)}!`,
  '(.{0,100}){0,9}Z$': (size) => 'a'.repeat(size),
  '(.{0,90}){0,11}Z$': (size) => '\u00e4'.repeat(size / 2),
  '(x+x+)+y': (size) => 'x'.repeat(size),
  '^.*.*.*.*.*Z$': (size) => '\u0442'.repeat(size / 2),
  '[a-z]{1,900}[0-9]{1,90}$': (size) => 'a'.repeat(size),
  '\\p{L}+\\p{N}+$': (size) => '\u00e4'.repeat(size / 2),
  '(?i)(straße|STRASSE)+x': (size) => 'straße'.repeat(size / 7),
  '^(([a-z])+.)+[A-Z]([a-z])+$': (size) => 'a'.repeat(size),
};

const manyTexts = (size: number) => times(size / 8, (i) => `v${i}`);

/** Rules that do more than they look like, each with the value that shows it. */
export const slowRules: Readonly<Record<string, (size: number) => object>> = {
  'self.list.all(x, !self.s.contains(x))': (size) => ({ s: 'a'.repeat(size / 2), list: manyTexts(size / 2) }),
  'self.list.all(x, self.list.exists(y, x == y))': (size) => ({ list: manyTexts(size) }),
  'self.list.all(x, self.list.all(y, self.list.all(z, x != y || y != z || true)))': (size) => ({
    list: manyTexts(size),
  }),
  "self.s.replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').replace('a', 'aa').size() > 1":
    (size) => ({ s: 'a'.repeat(size) }),
  '[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, self.s != string(a+b+c+d+e+f)))))))':
    (size) => ({ s: 'a'.repeat(size) }),
  "self.s.matches('^(a+)+$')": (size) => ({ s: `${'a'.repeat(size)}!` }),
  "self.list.all(x, x.matches('(.{0,100}){0,9}Z$') || true)": (size) => ({ list: manyTexts(size) }),
  'self.s.matches(self.s)': (size) => ({ s: '(a*)*'.repeat(size / 5) }),
  "self.s.split('').size() > 1": (size) => ({ s: 'a'.repeat(size) }),
  "self.s.split('').all(c, self.s.contains(c))": (size) => ({ s: 'a'.repeat(size) }),
  'self.list.map(x, self.s + x).size() > 1': (size) => ({ s: 'a'.repeat(size / 2), list: manyTexts(size / 2) }),
  "self.list.join(',').size() > 1": (size) => ({ list: manyTexts(size) }),
  'self.list.isSorted()': (size) => ({ list: manyTexts(size) }),
  'self.list.map(x, self.list.join(x)).size() > 1': (size) => ({ list: manyTexts(size) }),
  'self.list.filter(x, self.other.exists(y, y == x)).size() == 0': (size) => ({
    list: manyTexts(size / 2),
    other: manyTexts(size / 2),
  }),
  'self.map.all(k, self.map[k] != k)': (size) => ({
    map: Object.fromEntries(times(size / 12, (i) => [`k${i}`, `v${i}`])),
  }),
  'self.list == self.other': (size) => ({ list: manyTexts(size / 2), other: manyTexts(size / 2) }),
  'self.list.all(x, self.list == self.other || true)': (size) => ({
    list: manyTexts(size / 2),
    other: manyTexts(size / 2),
  }),
  "self.s.findAll('a').size() > 1": (size) => ({ s: 'a'.repeat(size) }),
  "self.s.lowerAscii().upperAscii().indexOf('zz') == -1": (size) => ({ s: 'A'.repeat(size) }),
  'self.list.all(x, self.s.indexOf(x) == -1)': (size) => ({ s: 'a'.repeat(size / 2), list: manyTexts(size / 2) }),
  "self.list.all(x, self.s.lastIndexOf('zz') == -1)": (size) => ({
    s: 'a'.repeat(size / 2),
    list: manyTexts(size / 2),
  }),
  "duration(self.s) > duration('1s')": (size) => ({ s: '1h'.repeat(size / 2) }),
  "timestamp(self.s) > timestamp('2020-01-01T00:00:00Z')": (size) => ({
    s: `2020-01-01T00:00:00.${'1'.repeat(size)}Z`,
  }),
  'int(self.s) > 1': (size) => ({ s: '1'.repeat(size) }),
  "quantity(self.s).isGreaterThan(quantity('1'))": (size) => ({ s: '1'.repeat(size) }),
  "url(self.s).getHost() == 'a'": (size) => ({ s: `http://${'a.'.repeat(size / 2)}/` }),
  'isIP(self.s) || isCIDR(self.s)': (size) => ({ s: '1.'.repeat(size / 2) }),
  "self.s.charAt(1) == 'a' && self.s.substring(1) != self.s.trim()": (size) => ({ s: ` ${'a'.repeat(size)} ` }),
  "self.s.reverse() != '' && '%s%s'.format([self.s, self.s]) != ''": (size) => ({ s: 'a'.repeat(size) }),
};
