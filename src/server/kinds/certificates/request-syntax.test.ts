import { expect, it } from 'vitest';
import { certificateRequest } from '../../../../test/support/certificate-request.ts';
import { apply, find } from '../strategy-run.testing.ts';
import { requestProblem } from './request-syntax.ts';

const good = Buffer.from(certificateRequest.replace(/-----.*?-----/g, ''), 'base64');
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const plain =
  '{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}';
/** A request whose version is these bytes, and which ends there. */
const version = (bytes: string) => {
  const inner = hex(bytes);
  return Buffer.concat([Buffer.from([0x30, inner.length + 2, 0x30, inner.length]), inner]);
};

it.each<[claim: string, der: Buffer, want: string | undefined]>([
  ['a request', good, undefined],
  ['nothing', Buffer.alloc(0), 'asn1: syntax error: sequence truncated'],
  ['one byte', hex('00'), 'asn1: syntax error: truncated tag or length'],
  [
    'a text',
    Buffer.from('hello'),
    `asn1: structure error: tags don't match (16 vs {class:1 tag:8 length:101 isCompound:true}) ${plain} certificateRequest @2`,
  ],
  ['more than a request', Buffer.concat([good, hex('0500')]), 'asn1: syntax error: trailing data'],
  ['less than a request', good.subarray(0, -1), 'asn1: syntax error: data truncated'],
  ['an empty sequence', hex('3000'), 'asn1: syntax error: sequence truncated'],
  ['a length without end', hex('3080 0000'), 'asn1: syntax error: indefinite length found (not DER)'],
  ['a length in too many bytes', hex('3081 00'), 'asn1: structure error: superfluous leading zeros in length'],
  ['a short length in the long form', hex('3081 01 00'), 'asn1: structure error: non-minimal length'],
  ['a length beyond everything', hex('3084 ffffffff'), 'asn1: structure error: length too large'],
  ['a length that is cut off', hex('3082 01'), 'asn1: syntax error: truncated tag or length'],
  ['a tag without end', hex('3f80'), 'asn1: syntax error: integer is not minimally encoded'],
  [
    'a version that is a text',
    version('0c0141'),
    `asn1: structure error: tags don't match (2 vs {class:0 tag:12 length:1 isCompound:false}) ${plain} int @2`,
  ],
  ['a version of no bytes', version('0200'), 'asn1: structure error: empty integer'],
  ['a version with zeros', version('02020001'), 'asn1: structure error: integer not minimally-encoded'],
  ['a version too large', version('0209 010000000000000000'), 'asn1: structure error: integer too large'],
  ['a version and no more', version('020100'), 'asn1: syntax error: sequence truncated'],
])('of %s is said what is wrong', (_claim, der, want) => expect(requestProblem(der)).toBe(want));

it('bytes that are cut off or changed anywhere are read to their end, and no further', () => {
  for (let at = 0; at < good.length; at++) {
    expect(requestProblem(good.subarray(0, at))).toMatch(/^asn1: /);
    const changed = Buffer.from(good);
    changed[at] = changed[at]! ^ 0xff;
    expect(requestProblem(changed) ?? 'asn1: ').toMatch(/^asn1: /);
  }
});

it('a request for a certificate that holds none is refused', async () => {
  const pem = '-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n';
  const request = Buffer.from(pem).toString('base64');
  const spec = { request, signerName: 'example.com/s', usages: ['client auth'] };
  const { errors } = await apply(find('certificatesigningrequests.certificates.k8s.io'), { spec });
  expect(errors).toEqual([`spec.request: Invalid value: "${request}": asn1: syntax error: truncated tag or length`]);
});
