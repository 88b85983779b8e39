/**
 * Pieces of TypeScript as text, in the form that formatters leave as it is (two blanks, single quotes, 120 columns): names,
 * values, comments. The same input gives the same bytes, so that generated files show only real changes.
 */

const COLUMNS = 120;

/** A comment for editors to show; nothing if there is nothing to say. */
export function docComment(lines: readonly string[], indent: string): string {
  const words = lines
    .flatMap((line) => line.split('\n'))
    .map((line) => line.trimEnd().replaceAll('*/', '*\\/'))
    .flatMap((line) => wrapped(line, COLUMNS - indent.length - 3));
  while (words.at(-1) === '') words.pop();
  while (words[0] === '') words.shift();
  if (words.length === 0) return '';
  if (words.length === 1 && words[0]!.length + indent.length + 7 <= COLUMNS) return `${indent}/** ${words[0]} */\n`;
  return `${indent}/**\n${words.map((line) => `${indent} *${line && ` ${line}`}\n`).join('')}${indent} */\n`;
}

function wrapped(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > width) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}

/** As it is written before a colon in a type. */
export function propertyName(name: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : quoted(name);
}

export function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  // The quote that needs fewer escapes, as formatters choose it.
  const singles = text.split("'").length - 1;
  const doubles = text.split('"').length - 1;
  return singles > doubles ? `"${inner.replaceAll('"', '\\"')}"` : `'${inner.replaceAll("'", "\\'")}'`;
}

/** In an object: there one name sets what the object inherits from, unless it is computed. */
function fieldName(name: string): string {
  return name === '__proto__' ? "['__proto__']" : propertyName(name);
}

/** A value of JSON as an expression; `used` are the columns before it in its line and behind it. */
export function literal(value: unknown, indent: string, used: number): string {
  const flat = flatLiteral(value);
  if (flat !== undefined && used + flat.length <= COLUMNS) return flat;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    const items = value.map((item) => `${inner}${literal(item, inner, inner.length + 1)},\n`);
    return `[\n${items.join('')}${indent}]`;
  }
  if (typeof value !== 'object' || value === null) return flat!;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const lines = fields.map(([name, field]) => {
    const start = `${inner}${fieldName(name)}: `;
    const text = literal(field, inner, start.length + 1);
    // A long text goes to a line of its own.
    const isLong = typeof field === 'string' && start.length + text.length + 1 > COLUMNS;
    return isLong ? `${start.trimEnd()}\n${inner}  ${text},\n` : `${start}${text},\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

/** In one line; undefined where formatters never put it in one. */
function flatLiteral(value: unknown): string | undefined {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    const items = value.map(flatLiteral);
    if (items.includes(undefined) || (value.length > 1 && value.every(hasSeveral))) return undefined;
    return `[${items.join(', ')}]`;
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const texts = fields.map(([name, field]) => [fieldName(name), flatLiteral(field)]);
  if (texts.some(([, text]) => text === undefined)) return undefined;
  return fields.length === 0 ? '{}' : `{ ${texts.map(([name, text]) => `${name}: ${text}`).join(', ')} }`;
}

function hasSeveral(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 1;
}

/** `start: type;` in one line, or a union in several. */
export function typedLine(start: string, types: readonly string[], indent: string): string {
  const flat = `${start}: ${types.join(' | ')};\n`;
  if (types.length === 1 || flat.length - 1 <= COLUMNS) return flat;
  return `${start}:\n${types.map((type) => `${indent}  | ${type}`).join('\n')};\n`;
}
