/**
 * Who a signing request (PKCS #10) is for: the organizations in its subject. Of the DER only what leads there is read.
 *
 * Always true: never past the bytes that are there; what cannot be read so far gives undefined.
 */

type Element = { readonly tag: number; readonly from: number; readonly to: number };

const SEQUENCE = 0x30;
const SET = 0x31;
const OID = 0x06;
const BMP_STRING = 0x1e;
/** 2.5.4.10 */
const ORGANIZATION = Buffer.from([0x55, 0x04, 0x0a]);

/**
 *     CertificationRequest ::= SEQUENCE { SEQUENCE { version, subject, … }, … }
 *     subject ::= SEQUENCE OF SET OF SEQUENCE { type OID, value }
 */
export function organizationsOf(der: Buffer): string[] | undefined {
  const request = elementAt(der, 0, der.length);
  const info = request?.tag === SEQUENCE ? elementAt(der, request.from, request.to) : undefined;
  const [, subject] = (info?.tag === SEQUENCE && childrenOf(der, info)) || [];
  const sets = subject?.tag === SEQUENCE ? childrenOf(der, subject) : undefined;
  if (!sets) return undefined;
  const organizations: string[] = [];
  for (const set of sets) {
    const pairs = set.tag === SET ? childrenOf(der, set) : undefined;
    if (!pairs) return undefined;
    for (const pair of pairs) {
      const [type, value] = (pair.tag === SEQUENCE && childrenOf(der, pair)) || [];
      if (type?.tag !== OID || !value) return undefined;
      if (der.subarray(type.from, type.to).equals(ORGANIZATION)) organizations.push(textOf(der, value));
    }
  }
  return organizations;
}

function childrenOf(der: Buffer, { from, to }: Element): Element[] | undefined {
  const children: Element[] = [];
  for (let at = from; at < to; ) {
    const child = elementAt(der, at, to);
    if (!child) return undefined;
    children.push(child);
    at = child.to;
  }
  return children;
}

function elementAt(der: Buffer, at: number, end: number): Element | undefined {
  if (at + 2 > end) return undefined;
  const tag = der[at]!;
  let length = der[at + 1]!;
  let from = at + 2;
  if (length > 0x80) {
    const size = length - 0x80;
    if (size > 4 || from + size > end) return undefined;
    length = der.readUIntBE(from, size);
    from += size;
  } else if (length === 0x80) return undefined;
  return from + length > end ? undefined : { tag, from, to: from + length };
}

/** Two bytes a character in one of the types of text; in all others that certificates have, what UTF-8 reads. */
function textOf(der: Buffer, { tag, from, to }: Element): string {
  const bytes = der.subarray(from, to);
  if (tag !== BMP_STRING) return bytes.toString('utf8');
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString('utf16le');
}
