import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import {
  checkAnnotationKey,
  checkConfigKey,
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkPathSegment,
  checkQualifiedName,
  checkStandardFinalizer,
} from './names.ts';

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const dns1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const namePart =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const x = (count: number) => 'x'.repeat(count);

describe('names', () => {
  it.each<[check: (value: string) => string[], value: string, want: string[]]>([
    [checkDnsSubdomain, 'a.b-c.0', []],
    [checkDnsSubdomain, x(253), []],
    [checkDnsSubdomain, x(254), ['must be no more than 253 characters']],
    [checkDnsSubdomain, 'Upper', [subdomain]],
    [checkDnsSubdomain, 'a..b', [subdomain]],
    [checkDnsSubdomain, 'a\n', [subdomain]],
    [checkDnsSubdomain, '', [subdomain]],
    [checkDnsLabel, 'a-0', []],
    [checkDnsLabel, 'with.dot', ['must not contain dots']],
    [checkDnsLabel, 'UPPER', [label]],
    [checkDnsLabel, `${x(64)}-`, ['must be no more than 63 characters', label]],
    [checkDns1035Label, 'a-0', []],
    [checkDns1035Label, '0a', [dns1035]],
    [checkPathSegment, 'system:Node', []],
    [checkPathSegment, '..', ["may not be '..'"]],
    [checkPathSegment, 'a/%', ["may not contain '/'", "may not contain '%'"]],
    [checkQualifiedName, 'example.com/My_name', []],
    [checkQualifiedName, '', ['name part must be non-empty', `name part ${namePart}`]],
    [checkQualifiedName, '/a', ['prefix part must be non-empty']],
    [checkQualifiedName, 'A_b.c/d', [`prefix part ${subdomain}`]],
    [checkQualifiedName, `a/${x(64)}`, ['name part must be no more than 63 bytes']],
    [checkQualifiedName, `${x(254)}/a`, ['prefix part must be no more than 253 bytes']],
    [
      checkQualifiedName,
      'x/y/z',
      [`a valid label key ${namePart} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
    ],
    [checkLabelValue, '', []],
    [checkLabelValue, 'My_value.0', []],
    [checkLabelValue, '-b', [labelValue]],
    [checkLabelValue, x(64), ['must be no more than 63 bytes']],
    [checkLabelValue, 'é'.repeat(32), ['must be no more than 63 bytes', labelValue]],
    [checkAnnotationKey, 'EXAMPLE.com/A', []],
    [checkAnnotationKey, 'bad key', [`name part ${namePart}`]],
    [checkStandardFinalizer, 'orphan', []],
    [checkStandardFinalizer, 'ex.io/f', []],
    [checkStandardFinalizer, 'f', ['name is neither a standard finalizer name nor is it fully qualified']],
    [checkConfigKey, 'key.name', []],
    [checkConfigKey, 'a b', [configKey]],
    [checkConfigKey, '..', ["must not be '..'"]],
    [checkConfigKey, '..a', ["must not start with '..'"]],
  ])('%o %j', (check, value, want) => expect(check(value)).toEqual(want));

  it('let a generateName end in a dash', () => {
    expect(checkDnsSubdomain('a-', true)).toEqual([]);
    expect(checkDnsSubdomain('a-')).toEqual([subdomain]);
    expect(checkPathSegment('.', true)).toEqual([]);
  });

  it('are checked in linear time', async () => {
    const from = 10_000;
    const limit = 400_000;
    const make = (text: string) => (size: number) => `${text.repeat(size)}!`;
    await expectLinear('a subdomain', { make: make('a-'), run: (text) => checkDnsSubdomain(text), from, limit });
    await expectLinear('a label value', { make: make('a.'), run: (text) => checkLabelValue(text), from, limit });
  });
});
