/**
 * What a request for a certificate may say: a signing request in PEM, known usages, a signer with a domain. And the
 * certificate that comes of it. Both are opened to see that they are what they say, and the request that who made it has the
 * key.
 */
import { X509Certificate } from 'node:crypto';
import {
  checkDnsLabel,
  checkDnsSubdomain,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  quote,
  requiredValue,
  tooLong,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { numberAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { requestProblem } from './request-syntax.ts';
import { signatureFault } from './signing-request.ts';

const SHORTEST_SECONDS = 600;
const LIMIT_DOMAIN = 253;
const LIMIT_NAME = LIMIT_DOMAIN + 1 + 253 + 63 + 1;
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
const USAGES =
  'any,cert sign,client auth,code signing,content commitment,crl sign,data encipherment,decipher only,digital signature,email protection,encipher only,ipsec end system,ipsec tunnel,ipsec user,key agreement,key encipherment,microsoft sgc,netscape sgc,ocsp signing,s/mime,server auth,signing,timestamping'.split(
    ',',
  );

export function checkCertificateSpec(spec: JsonObject): FieldError[] {
  const errors = checkRequest(textAt(spec, 'request'), 'spec.request');
  const usages = textsAt(spec, 'usages').map((usage) => usage ?? '');
  if (usages.length === 0) errors.push(requiredValue('spec.usages'));
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    const at = `spec.usages[${index}]`;
    if (!USAGES.includes(usage)) errors.push(unsupportedValue(at, usage, USAGES));
    if (seen.has(usage)) errors.push(duplicateValue(at, usage));
    seen.add(usage);
  }
  appendAll(errors, checkSigner(textAt(spec, 'signerName'), 'spec.signerName'));
  const seconds = numberAt(spec, 'expirationSeconds') ?? SHORTEST_SECONDS;
  if (seconds < SHORTEST_SECONDS) {
    const why = `may not specify a duration less than ${SHORTEST_SECONDS} seconds (10 minutes)`;
    errors.push(invalidValue('spec.expirationSeconds', seconds, why));
  }
  return errors;
}

/** The signing request itself, as DER; undefined if there is none. */
export function signingRequestOf(base64: string): Buffer | undefined {
  const block = pemBlocks(base64).next().value;
  return block?.type === 'CERTIFICATE REQUEST' ? block.body : undefined;
}

function checkRequest(base64: string, path: string): FieldError[] {
  const der = signingRequestOf(base64);
  const problem = der ? (requestProblem(der) ?? signatureFault(der)) : 'PEM block type must be CERTIFICATE REQUEST';
  return problem === undefined ? [] : [invalidValue(path, base64 === '' ? null : base64, problem)];
}

function checkSigner(name: string, path: string): FieldError[] {
  if (name === '') return [requiredValue(path)];
  if (name === LEGACY_SIGNER)
    return [invalidValue(path, name, 'the legacy signerName is not allowed via this API version')];
  const parts = name.split('/');
  const [domain, rest] = parts;
  if (parts.length !== 2 || domain === undefined || rest === undefined) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidValue(path, name, why)];
  }
  const errors: FieldError[] = [];
  const checkLabels = (text: string, check: (label: string) => readonly string[]) => {
    const bad = text.split('.').find((label) => check(label).length > 0); // one is enough
    for (const problem of bad === undefined ? [] : check(bad))
      errors.push(invalidValue(path, text, `validating label ${quote(bad!)}: ${problem}`));
  };
  if (Buffer.byteLength(domain) > LIMIT_DOMAIN) errors.push(tooLong(path, LIMIT_DOMAIN));
  checkLabels(domain, checkDnsLabel);
  if (!domain.includes('.'))
    errors.push(invalidValue(path, domain, 'should be a domain with at least two segments separated by dots'));
  checkLabels(rest, checkDnsSubdomain);
  if (Buffer.byteLength(name) > LIMIT_NAME) errors.push(tooLong(path, LIMIT_NAME));
  return errors;
}

/** Of `status.certificate`: any number of certificates, and nothing else, if it is there at all. */
export function checkCertificate(base64: string, path: string): FieldError[] {
  if (base64 === '') return [];
  const refuse = (why: string) => [invalidValue(path, '<certificate data>', why)];
  let count = 0;
  for (const { type, headers, body } of pemBlocks(base64)) {
    if (type !== 'CERTIFICATE') return refuse(`only CERTIFICATE PEM blocks are allowed, found ${quote(type)}`);
    if (headers) return refuse('no PEM block headers are permitted');
    if (!isCertificate(body)) return refuse('x509: malformed certificate');
    count++;
  }
  return count > 0 ? [] : refuse('must contain at least one CERTIFICATE PEM block');
}

function isCertificate(body: Buffer): boolean {
  try {
    new X509Certificate(body);
    return true;
  } catch {
    return false;
  }
}

type PemBlock = { readonly type: string; readonly headers: boolean; readonly body: Buffer };

function* pemBlocks(base64: string): Generator<PemBlock, undefined, void> {
  const text = Buffer.from(base64, 'base64').toString('latin1');
  let from = 0;
  for (;;) {
    const begin = text.indexOf('-----BEGIN ', from);
    if (begin < 0) return undefined;
    const typeEnd = text.indexOf('-----', begin + 11);
    const type = typeEnd < 0 ? '' : text.slice(begin + 11, typeEnd);
    const end = typeEnd < 0 ? -1 : text.indexOf(`-----END ${type}-----`, typeEnd);
    if (end < 0) return undefined;
    const inner = text.slice(typeEnd + 5, end);
    yield { type, headers: inner.includes(':'), body: Buffer.from(inner, 'base64') };
    from = end + 1;
  }
}
