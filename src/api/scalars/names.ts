/**
 * What names, keys and label values may look like. Each check answers the list of what is wrong, in the words of
 * kube-apiserver; an empty list means the value is good. No check throws.
 *
 * Most lengths are told in characters and counted in bytes; everything the patterns allow is ASCII, so both agree on
 * every value that could pass.
 */
const dnsLabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const dnsSubdomainPattern = `${dnsLabelPattern}(\\.${dnsLabelPattern})*`;
const dns1035Pattern = '[a-z]([-a-z0-9]*[a-z0-9])?';
const namePartPattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValuePattern = `(${namePartPattern})?`;
const configKeyPattern = '[-._a-zA-Z0-9]+';

// Written out without nested repeats, so that no input makes them backtrack.
const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const dns1035 = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const namePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const configKey = /^[-._a-zA-Z0-9]+$/;

const alphanumericRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const namePartText = patternText(alphanumericRule, namePartPattern, 'MyName', 'my.name', '123-abc');
const labelValueText = patternText(
  alphanumericRule.replace('must consist', 'a valid label must be an empty string or consist'),
  labelValuePattern,
  'MyValue',
  'my_value',
  '12345',
);
const dnsLabelText = patternText(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  dnsLabelPattern,
  'my-name',
  '123-abc',
);
const dnsSubdomainText = patternText(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  dnsSubdomainPattern,
  'example.com',
);
const dns1035Text = patternText(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  dns1035Pattern,
  'my-name',
  'abc-123',
);
const configKeyText = patternText(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  configKeyPattern,
  'key.name',
  'KEY_NAME',
  'key-name',
);

/** Checks one name; `isPrefix`: it is a generateName, so it may end in what only a suffix makes good. */
export type NameCheck = (name: string, isPrefix?: boolean) => string[];

/** Namespaces, services, containers, ports of pods. */
export function checkDnsLabel(name: string, isPrefix = false): string[] {
  const value = isPrefix ? maskTrailingDash(name) : name;
  const problems = tooManyCharacters(value, 63);
  if (dnsLabel.test(value)) return problems;
  problems.push(isDnsSubdomain(value) ? 'must not contain dots' : dnsLabelText);
  return problems;
}

/** The default for names of objects. */
export function checkDnsSubdomain(name: string, isPrefix = false): string[] {
  const value = isPrefix ? maskTrailingDash(name) : name;
  const problems = tooManyCharacters(value, 253);
  if (!isDnsSubdomain(value)) problems.push(dnsSubdomainText);
  return problems;
}

/** The stricter label of old: it begins with a letter. */
export function checkDns1035Label(name: string, isPrefix = false): string[] {
  const value = isPrefix ? maskTrailingDash(name) : name;
  const problems = tooManyCharacters(value, 63);
  if (!dns1035.test(value)) problems.push(dns1035Text);
  return problems;
}

/** Roles and bindings: whatever fits into one segment of a path. */
export function checkPathSegment(name: string, isPrefix = false): string[] {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter((character) => name.includes(character)).map((found) => `may not contain '${found}'`);
}

/** Qualified names that are good: the same few are keys everywhere. A bounded number of short ones. */
const goodNames = new Set<string>();
const MOST_GOOD_NAMES = 1000;
const SHORT_CHARACTERS = 128;

/** `name` or `prefix/name`: label keys, annotation keys, finalizers, resource names. */
export function checkQualifiedName(key: string): string[] {
  if (goodNames.has(key)) return [];
  const problems = problemsOfQualifiedName(key);
  if (problems.length > 0 || key.length > SHORT_CHARACTERS) return problems;
  if (goodNames.size === MOST_GOOD_NAMES) goodNames.clear(); // whoever is still in use comes back at once
  goodNames.add(key);
  return problems;
}

function problemsOfQualifiedName(key: string): string[] {
  const slash = key.indexOf('/');
  if (slash >= 0 && key.indexOf('/', slash + 1) >= 0) {
    return [
      `a valid label key ${namePartText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  const name = slash < 0 ? key : key.slice(slash + 1);
  if (slash >= 0) {
    const prefix = key.slice(0, slash);
    if (prefix === '') problems.push('prefix part must be non-empty');
    else {
      if (byteLength(prefix) > 253) problems.push('prefix part must be no more than 253 bytes');
      if (!isDnsSubdomain(prefix)) problems.push(`prefix part ${dnsSubdomainText}`);
    }
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (byteLength(name) > 63) problems.push('name part must be no more than 63 bytes');
  if (!namePart.test(name)) problems.push(`name part ${namePartText}`);
  return problems;
}

export function checkLabelValue(value: string): string[] {
  if (value === '') return [];
  const problems: string[] = [];
  if (byteLength(value) > 63) problems.push('must be no more than 63 bytes');
  if (!namePart.test(value)) problems.push(labelValueText);
  return problems;
}

/** Annotation keys are label keys that may also be written in capitals. */
export function checkAnnotationKey(key: string): string[] {
  return checkQualifiedName(key.toLowerCase());
}

const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** What built-in kinds ask of a finalizer beyond being a qualified name. */
export function checkStandardFinalizer(name: string): string[] {
  if (name.includes('/') || standardFinalizers.has(name)) return [];
  return ['name is neither a standard finalizer name nor is it fully qualified'];
}

/** Keys of configmaps and secrets. */
export function checkConfigKey(key: string): string[] {
  const problems = tooManyCharacters(key, 253);
  if (!configKey.test(key)) problems.push(configKeyText);
  if (key === '.' || key === '..') problems.push(`must not be '${key}'`);
  else if (key.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

/** Labels with dots between them, in one look: names are checked with every write, many times over. */
function isDnsSubdomain(value: string): boolean {
  let before = DOT;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code === DOT || code === DASH) {
      // A label ends in neither, and begins with neither.
      if (before === DOT || (code === DOT && before === DASH)) return false;
    } else if (!isLowerOrDigit(code)) return false;
    before = code;
  }
  return before !== DOT && before !== DASH;
}

const DOT = 0x2e;
const DASH = 0x2d;

function isLowerOrDigit(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);
}

function tooManyCharacters(value: string, limit: number): string[] {
  return byteLength(value) > limit ? [`must be no more than ${limit} characters`] : [];
}

/** Bytes in UTF-8. */
function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) bytes += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

// The character before the dash goes too, as in kube-apiserver: `A-` passes here and fails with its suffix.
function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

// The two blanks before "or" are what kube-apiserver prints.
function patternText(rule: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}'`).join(',  or ');
  return `${rule} (e.g. ${shown}, regex used for validation is '${pattern}')`;
}
