/**
 * What is wrong with one field of an object: the texts that validation answers with.
 *
 * A FieldError is data. Its `message` is the whole text without the path, and `causes` of a Status carry it as it is.
 * Values are shown as kube-apiserver shows them: strings quoted, numbers and booleans bare, nothing as `null`,
 * everything else as JSON. Of a long one only the beginning is shown (`shownValueBytes`): what a client sent is not to come
 * back to it many times over.
 */
import { cutText, jsonText } from '../json-text.ts';

export type FieldErrorReason =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'InternalError';

export type FieldError = {
  readonly reason: FieldErrorReason;
  /** A path such as `spec.versions[0].name` or `data[a b]`. */
  readonly field: string;
  readonly message: string;
};

/** The path of a field, a list index or a map key below `path`. */
export function childPath(path: string, child: string | number): string {
  if (typeof child === 'number') return `${path}[${child}]`;
  return path === '' ? child : `${path}.${child}`;
}

/** The path of one entry of a map: `data[key]`. */
export function keyPath(path: string, key: string): string {
  return `${path}[${key}]`;
}

/** The error as text, with its path in front. */
export function fieldErrorText({ field, message }: FieldError): string {
  return `${field}: ${message}`;
}

export function requiredValue(field: string, detail = ''): FieldError {
  return { reason: 'FieldValueRequired', field, message: withDetail('Required value', detail) };
}

export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: withDetail(`Invalid value: ${showValue(value)}`, detail) };
}

/** A value of the wrong type; `found` is the type that was found, e.g. `string`. */
export function typeInvalid(field: string, found: unknown, detail: string): FieldError {
  return { reason: 'FieldValueTypeInvalid', field, message: withDetail(`Invalid value: ${showValue(found)}`, detail) };
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${showValue(value)}` };
}

/** `supported` is shown in the order given. */
export function unsupportedValue(field: string, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length > 0 ? `supported values: ${supported.map(quote).join(', ')}` : '';
  return {
    reason: 'FieldValueNotSupported',
    field,
    message: withDetail(`Unsupported value: ${showValue(value)}`, detail),
  };
}

export function forbiddenValue(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: withDetail('Forbidden', detail) };
}

export function tooLong(field: string, limitBytes: number): FieldError {
  const unit = limitBytes === 1 ? 'byte' : 'bytes';
  return { reason: 'FieldValueTooLong', field, message: `Too long: may not be more than ${limitBytes} ${unit}` };
}

export function tooMany(field: string, found: number, limit: number): FieldError {
  const unit = limit === 1 ? 'item' : 'items';
  return { reason: 'FieldValueTooMany', field, message: `Too many: ${found}: must have at most ${limit} ${unit}` };
}

export function valueNotFound(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueNotFound', field, message: `Not found: ${showValue(value)}` };
}

export function internalFieldError(field: string, detail: string): FieldError {
  return { reason: 'InternalError', field, message: withDetail('Internal error', detail) };
}

const shownValueBytes = 64 * 1024;

/** A value inside an error message. */
export function showValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return shortQuote(value);
    case 'undefined':
      return 'null';
    case 'object':
      return cutText(jsonText(value), shownValueBytes);
    default: // numbers, booleans, bigints
      return String(value);
  }
}

/** Escapes can make a text many times as long, so it is cut once more when it has them. */
function shortQuote(text: string): string {
  const quoted = quote(cutText(text, shownValueBytes));
  return quoted.length * 3 <= shownValueBytes ? quoted : closed(cutText(quoted, shownValueBytes));
}

function closed(quoted: string): string {
  return quoted.endsWith('"') ? quoted : `${quoted}"`;
}

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);
const needsEscape = /[^ !\x23-\x5b\x5d-\x7e]/u;
const escapable = /["\\]|[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/gu;

/** A string in double quotes, escaped as Go's `%q` does it: printable characters stay, the others become codes. */
export function quote(text: string): string {
  return needsEscape.test(text) ? `"${text.replace(escapable, escapeCharacter)}"` : `"${text}"`;
}

function escapeCharacter(character: string): string {
  const short = shortEscapes.get(character);
  if (short) return short;
  const code = character.codePointAt(0)!;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd'; // half of a pair: not a character of any encoding
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

function withDetail(text: string, detail: string): string {
  return detail === '' ? text : `${text}: ${detail}`;
}
