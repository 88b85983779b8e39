import { describe, expect, it } from 'vitest';
import {
  childPath,
  duplicateValue,
  type FieldError,
  fieldErrorText,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  keyPath,
  quote,
  requiredValue,
  showValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
  valueNotFound,
} from './field-error.ts';

describe('field errors', () => {
  it.each<[error: FieldError, reason: string, message: string]>([
    [requiredValue('f'), 'FieldValueRequired', 'Required value'],
    [requiredValue('f', 'why'), 'FieldValueRequired', 'Required value: why'],
    [invalidValue('f', 'x', 'why'), 'FieldValueInvalid', 'Invalid value: "x": why'],
    [invalidValue('f', -1, 'why'), 'FieldValueInvalid', 'Invalid value: -1: why'],
    [invalidValue('f', null, 'why'), 'FieldValueInvalid', 'Invalid value: null: why'],
    [invalidValue('f', { app: 'a' }, 'why'), 'FieldValueInvalid', 'Invalid value: {"app":"a"}: why'],
    [invalidValue('f', ['None'], 'why'), 'FieldValueInvalid', 'Invalid value: ["None"]: why'],
    [typeInvalid('f', 'string', 'why'), 'FieldValueTypeInvalid', 'Invalid value: "string": why'],
    [duplicateValue('f', 'c'), 'FieldValueDuplicate', 'Duplicate value: "c"'],
    [duplicateValue('f', { k: 'a' }), 'FieldValueDuplicate', 'Duplicate value: {"k":"a"}'],
    [
      unsupportedValue('f', 'x', ['', 'A']),
      'FieldValueNotSupported',
      'Unsupported value: "x": supported values: "", "A"',
    ],
    [
      unsupportedValue('f', ['x'], ['All']),
      'FieldValueNotSupported',
      'Unsupported value: ["x"]: supported values: "All"',
    ],
    [forbiddenValue('f', 'why'), 'FieldValueForbidden', 'Forbidden: why'],
    [tooLong('f', 253), 'FieldValueTooLong', 'Too long: may not be more than 253 bytes'],
    [tooMany('f', 3, 2), 'FieldValueTooMany', 'Too many: 3: must have at most 2 items'],
    [valueNotFound('f', 'x'), 'FieldValueNotFound', 'Not found: "x"'],
    [internalFieldError('f', 'why'), 'InternalError', 'Internal error: why'],
  ])('%o', (error, reason, message) => {
    expect(error).toEqual({ reason, field: 'f', message });
    expect(fieldErrorText(error)).toBe(`f: ${message}`);
  });

  it('build paths', () => {
    expect(childPath(childPath(childPath('', 'spec'), 'versions'), 0)).toBe('spec.versions[0]');
    expect(keyPath('data', 'a b')).toBe('data[a b]');
  });

  it.each([
    ['plain', '"plain"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['a\tb\n', '"a\\tb\\n"'],
    ['\0\x1f\x7f', '"\\x00\\x1f\\x7f"'],
    ['grün 日本', '"grün 日本"'],
    ['a\u00a0b\u200b', '"a\\u00a0b\\u200b"'],
    ['\u{e0001}', '"\\U000e0001"'],
  ])('quote(%j)', (text, want) => expect(quote(text)).toBe(want));

  it('show what is absent as null, and booleans bare', () => {
    expect([showValue(undefined), showValue(true)]).toEqual(['null', 'true']);
  });
});
