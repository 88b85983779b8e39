/**
 * Whether bytes are a signing request (PKCS #10) in DER, told in the words of the reader kube-apiserver uses.
 *
 *     CertificationRequest ::= SEQUENCE { SEQUENCE { version, subject, key, [0] attributes }, algorithm, signature }
 *
 * The subject, the key and the attributes are not looked into. Always true: never past the bytes that are there, and no
 * deeper than the shape above.
 */

type Tag = { readonly class: number; readonly tag: number; readonly length: number; readonly isCompound: boolean };

/** `inside`: what it is made of, or a look at its bytes. Without a `tag` it may be any element. */
type Shape = {
  readonly name: string;
  readonly tag?: number;
  readonly class?: number;
  readonly inside?: readonly Shape[] | ((bytes: Buffer) => void);
  readonly isOptional?: boolean;
};

const [INTEGER, BIT_STRING, OID, SEQUENCE, CONTEXT] = [2, 3, 6, 16, 2];
const MOST_INTEGER_BYTES = 8;

const any: Shape = { name: 'RawValue' };
const bits: Shape = { name: 'BitString', tag: BIT_STRING, inside: checkBits };
const algorithm: Shape = {
  name: 'AlgorithmIdentifier',
  tag: SEQUENCE,
  inside: [
    { name: 'ObjectIdentifier', tag: OID, inside: checkIdentifier },
    { ...any, isOptional: true },
  ],
};
const request: Shape = {
  name: 'certificateRequest',
  tag: SEQUENCE,
  inside: [
    {
      name: 'tbsCertificateRequest',
      tag: SEQUENCE,
      inside: [
        { name: 'int', tag: INTEGER, inside: checkInteger },
        any,
        { name: 'publicKeyInfo', tag: SEQUENCE, inside: [algorithm, bits] },
        { name: '', tag: 0, class: CONTEXT, inside: [] },
      ],
    },
    algorithm,
    bits,
  ],
};

class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** What is wrong with them; undefined if nothing is. */
export function requestProblem(der: Buffer): string | undefined {
  try {
    if (readElement(der, 0, request) < der.length) throw syntaxFault('trailing data');
    return undefined;
  } catch (err) {
    if (err instanceof Malformed) return err.message;
    throw err;
  }
}

const syntaxFault = (why: string) => new Malformed(`asn1: syntax error: ${why}`);
const structureFault = (why: string) => new Malformed(`asn1: structure error: ${why}`);

/** Where what follows it begins. */
function readElement(bytes: Buffer, at: number, { name, tag, class: wanted = 0, inside, isOptional }: Shape): number {
  if (at === bytes.length) {
    if (isOptional) return at;
    throw syntaxFault('sequence truncated');
  }
  const [found, from] = readTag(bytes, at);
  const isCompound = Array.isArray(inside);
  if (tag !== undefined && (found.class !== wanted || found.tag !== tag || found.isCompound !== isCompound))
    throw structureFault(`tags don't match (${tag} vs ${shown(found)}) ${parameters} ${name} @${from}`);
  const to = from + found.length;
  if (to > bytes.length) throw syntaxFault('data truncated');
  const content = bytes.subarray(from, to);
  if (typeof inside === 'function') inside(content);
  // More at the end of a sequence is left alone: later versions may say more.
  else for (let next = 0, i = 0; i < (inside?.length ?? 0); i++) next = readElement(content, next, inside![i]!);
  return to;
}

/** How that reader shows that nothing special was wanted. */
const parameters =
  '{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}';

function shown({ class: kind, tag, length, isCompound }: Tag): string {
  return `{class:${kind} tag:${tag} length:${length} isCompound:${isCompound}}`;
}

function readTag(bytes: Buffer, start: number): [tag: Tag, from: number] {
  let at = start;
  const first = bytes[at++]!;
  let tag = first & 0x1f;
  if (tag === 0x1f) {
    tag = 0;
    for (let count = 0; ; count++) {
      if (at >= bytes.length) throw syntaxFault('truncated base 128 integer');
      if (count === 5) throw structureFault('base 128 integer too large');
      const byte = bytes[at++]!;
      if (count === 0 && byte === 0x80) throw syntaxFault('integer is not minimally encoded');
      tag = tag * 128 + (byte & 0x7f);
      if (byte < 0x80) break;
    }
    if (tag > 0x7f_ff_ff_ff) throw structureFault('base 128 integer too large');
    if (tag < 0x1f) throw syntaxFault('non-minimal tag');
  }
  if (at >= bytes.length) throw syntaxFault('truncated tag or length');
  let length = bytes[at++]!;
  if (length >= 0x80) {
    const size = length & 0x7f;
    if (size === 0) throw syntaxFault('indefinite length found (not DER)');
    length = 0;
    for (let i = 0; i < size; i++) {
      if (at >= bytes.length) throw syntaxFault('truncated tag or length');
      if (length >= 2 ** 23) throw structureFault('length too large');
      length = length * 256 + bytes[at++]!;
      if (length === 0) throw structureFault('superfluous leading zeros in length');
    }
    if (length < 0x80) throw structureFault('non-minimal length');
  }
  return [{ class: first >> 6, tag, length, isCompound: (first & 0x20) !== 0 }, at];
}

function checkBits(bytes: Buffer): void {
  if (bytes.length === 0) throw syntaxFault('zero length BIT STRING');
  const unused = bytes[0]!;
  const isPadded = unused <= 7 && (bytes.length > 1 || unused === 0);
  if (!isPadded || (bytes.at(-1)! & ((1 << unused) - 1)) !== 0) throw syntaxFault('invalid padding bits in BIT STRING');
}

function checkIdentifier(bytes: Buffer): void {
  if (bytes.length === 0) throw syntaxFault('zero length OBJECT IDENTIFIER');
  if (bytes.at(-1)! >= 0x80) throw syntaxFault('truncated base 128 integer');
}

function checkInteger(bytes: Buffer): void {
  if (bytes.length === 0) throw structureFault('empty integer');
  const [first, second] = [bytes[0]!, bytes[1]];
  const isLonger = second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
  if (isLonger) throw structureFault('integer not minimally-encoded');
  if (bytes.length > MOST_INTEGER_BYTES) throw structureFault('integer too large');
}
