/**
 * A connection to something that runs in the cluster, as admission sees it: an operation of its own, CONNECT, with the
 * options as its object. There is no dry run of it.
 */
import { badRequest, type JsonObject, type KubeObject } from '../../../api/index.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { Rest } from '../rest.ts';
import { type AdmittedWrite, admissionOf } from '../writing/write-admission.ts';

/** The options as admission has left them. */
export async function admitConnection(
  rest: Rest,
  context: RequestContext,
  asked: Pick<AdmittedWrite, 'resource' | 'place' | 'bodyType'>,
  options: JsonObject,
): Promise<JsonObject> {
  if (context.query.has('dryRun')) throw badRequest('dryRun is not supported');
  const admission = admissionOf(rest.admission, context, { operation: 'CONNECT', ...asked });
  const strategyContext = rest.strategyContext(context, asked.place.subresource);
  const admitted = await admission.admit(options as unknown as KubeObject, undefined, strategyContext);
  await admission.validate(admitted, undefined, strategyContext);
  return admitted as unknown as JsonObject;
}
