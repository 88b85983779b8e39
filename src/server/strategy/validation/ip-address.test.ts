import { expect, it } from 'vitest';
import {
  canonicalAddress,
  checkIpAddress,
  checkOrdinaryAddress,
  checkRange,
  interfaceAddress,
  parseAddress,
  showAddress,
  warningsForAddress,
  warningsForRange,
} from './ip-address.ts';

it.each([
  ['10.9.8.7', '10.9.8.7'],
  ['010.009.8.7', '10.9.8.7'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['::', '::'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
])('%s is shown as %s', (text, want) => {
  expect(showAddress(parseAddress(text)!)).toBe(want);
  expect(canonicalAddress(text)).toBe(want);
});

it('what is no address has no other form', () => {
  expect(['', 'None', '1.2.3.256'].map(canonicalAddress)).toEqual(['', 'None', '1.2.3.256']);
});

it.each(['', 'a', '1.2.3', '1.2.3.256', '1.2.3.4 ', 'fe80::1%eth0', ':::', '1'.repeat(100)])(
  '%j is no address',
  (text) => {
    expect(parseAddress(text)).toBeUndefined();
  },
);

const bad = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
it.each<[text: string, want: string[], canonical: string[]]>([
  ['10.9.8.7', [], []],
  ['x', [bad], [bad]],
  ['010.0.0.1', ['must not have leading 0s'], ['must not have leading 0s']],
  ['::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address'], ['must not be an IPv4-mapped IPv6 address']],
  ['2001:DB8::1', [], ['must be in canonical form ("2001:db8::1")']],
])('address %s', (text, want, canonical) => {
  expect([checkIpAddress(text), checkIpAddress(text, true)]).toEqual([want, canonical]);
});

const badRange = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
it.each<[text: string, want: string[]]>([
  ['10.0.0.0/8', []],
  ['::/0', []],
  ['10.0.0.0', [badRange]],
  ['10.0.0.0/33', [badRange]],
  ['10.0.0.0/8/1', [badRange]],
  ['010.0.0.0/8', ['must not have leading 0s in IP or prefix length']],
  ['10.0.0.0/08', ['must not have leading 0s in IP or prefix length']],
  ['::ffff:10.0.0.0/104', ['must not have an IPv4-mapped IPv6 address']],
  ['10.0.0.5/8', ['must not have bits set beyond the prefix length']],
  ['2001:DB8::/32', ['must be in canonical form ("2001:db8::/32")']],
])('range %s', (text, want) => expect(checkRange(text, true)).toEqual(want));

it.each([
  ['0.0.0.0', 'may not be unspecified (0.0.0.0 or ::)'],
  ['::1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ['169.254.1.1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ['224.0.0.9', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
])('%s leads nowhere', (text, want) => {
  expect([checkOrdinaryAddress(text), checkOrdinaryAddress('10.0.0.1')]).toEqual([[want], []]);
});

it('what will not be taken one day is told', () => {
  expect([
    warningsForAddress('a', '010.0.0.1'),
    warningsForAddress('a', '2001:DB8::1'),
    warningsForAddress('a', '10.0.0.1'),
    warningsForRange('r', '10.0.0.5/8'),
    warningsForRange('r', '2001:DB8::/32'),
  ]).toEqual([
    ['a: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'],
    ['a: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'],
    [],
    ['r: CIDR value "10.0.0.5/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.5/32"?)'],
    ['r: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")'],
  ]);
});

it('an address of an interface has its range with it', () => {
  const problems = (text: string) => interfaceAddress(text, 'ip', {}).map(({ message }) => message);
  expect([problems('10.9.8.7/24'), problems('10.9.8.7/024'), problems('10.9.8.7')]).toEqual([
    [],
    ['Invalid value: "10.9.8.7/024": must be in canonical form ("10.9.8.7/24")'],
    ['Invalid value: "10.9.8.7": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'],
  ]);
});
