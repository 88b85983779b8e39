/**
 * The headers every answer carries, and the rules for warnings.
 *
 * Always true: a header value that came from the client is printable ASCII and short before it goes back; a warning
 * is told once per answer.
 */
import { randomUUID } from 'node:crypto';
import type { FlowUids } from '../../flow-control/flow-gate.ts';

export type AnswerHeaders = Record<string, string | string[]>;

export function standardHeaders(
  auditId: string | undefined,
  contentType: string,
  flow: FlowUids | undefined,
): AnswerHeaders {
  const headers: AnswerHeaders = {
    'Audit-Id': auditId !== undefined && isEchoable(auditId) ? auditId.slice(0, 64) : newAuditId(),
    'Cache-Control': 'no-cache, private',
  };
  if (contentType !== '') headers['Content-Type'] = contentType;
  if (flow) {
    headers['X-Kubernetes-Pf-Flowschema-Uid'] = flow.flowSchemaUid;
    headers['X-Kubernetes-Pf-Prioritylevel-Uid'] = flow.priorityLevelUid;
  }
  return headers;
}

/** In one piece: what randomUUID puts together keeps its fifteen parts for as long as it lives. */
function newAuditId(): string {
  return idMemory.toString('latin1', 0, idMemory.write(randomUUID(), 'latin1'));
}

const idMemory = Buffer.allocUnsafeSlow(36);

/** The exact token `gzip`: no q-values, no wildcard. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  return String(acceptEncoding)
    .split(',')
    .some((token) => token.trim() === 'gzip');
}

const TOTAL_LIMIT = 4096;
const CUT_LENGTH = 256;

/**
 * One `Warning` value for each text. When all of them are too long together, each is cut, and those that come after
 * the limit all the same are not told.
 */
export function warningValues(texts: ReadonlySet<string>): string[] {
  let total = 0;
  for (const { length } of texts) total += length;
  const isTooMuch = total > TOTAL_LIMIT;
  const values: string[] = [];
  let told = 0;
  for (const text of texts) {
    if (told >= TOTAL_LIMIT) break;
    const shown = (isTooMuch ? text.slice(0, CUT_LENGTH) : text).replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
    told += shown.length;
    // Header values are bytes: text beyond ASCII goes out as its UTF-8.
    values.push(`299 - "${Buffer.from(shown.replace(/["\\]/g, '\\$&'), 'utf8').toString('latin1')}"`);
  }
  return values;
}

function isEchoable(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}
