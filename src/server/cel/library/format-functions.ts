/** `format.dns1123Label().validate(text)`: what is wrong with a text that is to have a well-known form. */
import {
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
} from '../../../api/index.ts';
import { traversal } from '../values/budget.ts';
import { CelError, Opaque, Optional } from '../values/values.ts';
import { toTimestamp } from './conversions.ts';
import type { Functions } from './overloads.ts';
import { withoutStack } from './without-stack.ts';

type Check = (text: string) => readonly string[];

class Format extends Opaque {
  readonly typeName = 'Format';
  readonly formatName: string;
  readonly check: Check;
  /** As if it were a pattern of that length. */
  readonly size: number;

  constructor(formatName: string, size: number, check: Check) {
    super();
    this.formatName = formatName;
    this.size = size;
    this.check = check;
  }

  same(other: Format): boolean {
    return this.formatName === other.formatName;
  }

  override toString(): string {
    return this.formatName;
  }
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const formats: ReadonlyMap<string, Format> = new Map(
  [
    new Format('dns1123Label', 30, (text) => checkDnsLabel(text)),
    new Format('dns1123Subdomain', 60, (text) => checkDnsSubdomain(text)),
    new Format('dns1035Label', 30, (text) => checkDns1035Label(text)),
    new Format('qualifiedName', 60, checkQualifiedName),
    new Format('dns1123LabelPrefix', 30, (text) => checkDnsLabel(text, true)),
    new Format('dns1123SubdomainPrefix', 60, (text) => checkDnsSubdomain(text, true)),
    new Format('dns1035LabelPrefix', 30, (text) => checkDns1035Label(text, true)),
    new Format('labelValue', 40, checkLabelValue),
    new Format('uri', 1000, checkUri),
    new Format('uuid', 100, (text) => (UUID.test(text) ? [] : ['does not match the UUID format'])),
    new Format('byte', 100, (text) => (BASE64.test(text) ? [] : ['invalid base64'])),
    new Format('date', 300, (text) => (isTime(`${text}T00:00:00Z`) ? [] : ['invalid date'])),
    new Format('datetime', 300, (text) => (isTime(text) ? [] : ['invalid datetime'])),
  ].map((format) => [format.formatName, format]),
);

export function declareFormats(functions: Functions): void {
  for (const [name, format] of formats) functions.declare(`format::${name}(): Format`, 1, () => format);
  functions
    .declare('format::named(string): optional<Format>', 1, (name: string) => {
      const format = formats.get(name);
      return format ? new Optional(format) : Optional.none;
    })
    .declare(
      'Format.validate(string): optional<list<string>>',
      ({ size }: Format, text: string) => traversal(1 + text.length) * Math.ceil(size / 4),
      ({ check }: Format, text: string) => {
        const problems = check(text);
        return problems.length === 0 ? Optional.none : new Optional(problems);
      },
    );
}

function checkUri(text: string): readonly string[] {
  const wrong = (why: string) => [`parse ${JSON.stringify(text)}: ${why}`];
  if (text === '') return wrong('empty url');
  if (!text.startsWith('/') && !/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text)) return wrong('invalid URI for request');
  try {
    withoutStack(() => new URL(text, 'none:/'));
    return [];
  } catch {
    return wrong('invalid URI for request');
  }
}

function isTime(text: string): boolean {
  try {
    toTimestamp(text);
    return true;
  } catch (err) {
    if (err instanceof CelError) return false;
    throw err;
  }
}
