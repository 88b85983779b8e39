/** How something is to be deleted: from the body if there is one, else from the query, never from both. */
import { type FieldError, invalid, invalidValue, type JsonObject, unsupportedValue } from '../../../api/index.ts';
import type { Resource } from '../../registry/resource.ts';
import { booleanParameter, integerParameter } from '../../request/query-parameters.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { builtInSchemas } from '../../schema/schemas.ts';
import { readBodyObject } from './read-body.ts';
import { dryRunFaults } from './write-options.ts';

export type DeleteOptions = {
  readonly isDryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
};

const TYPE = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions';
const POLICIES = ['Foreground', 'Background', 'Orphan'];

export async function deleteOptions(context: RequestContext, resource: Resource): Promise<DeleteOptions> {
  const bytes = await context.readBody();
  const given = bytes.length > 0 ? await fromBody(context, resource) : fromQuery(context.query);
  const policy = given.propagationPolicy as string | undefined;
  const orphanDependents = given.orphanDependents as boolean | undefined;
  const dryRun = (given.dryRun as string[] | undefined) ?? [];
  const faults: FieldError[] = [];
  if (orphanDependents !== undefined && policy !== undefined)
    faults.push(
      invalidValue('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  if (policy !== undefined && !POLICIES.includes(policy))
    faults.push(unsupportedValue('propagationPolicy', policy, [...POLICIES, 'nil']));
  faults.push(...dryRunFaults(dryRun));
  if (faults.length > 0) throw invalid({ kind: 'DeleteOptions', group: 'meta.k8s.io' }, '', faults);
  return {
    isDryRun: dryRun.length > 0,
    gracePeriodSeconds: given.gracePeriodSeconds as number | undefined,
    propagationPolicy: policy as DeleteOptions['propagationPolicy'],
    orphanDependents,
    preconditions: given.preconditions as DeleteOptions['preconditions'],
  };
}

function fromBody(context: RequestContext, { groupVersion }: Resource): Promise<JsonObject> {
  const schema = builtInSchemas().byName(TYPE);
  if (!schema) throw new Error(`Cannot find schema "${TYPE}"`);
  const alsoVersions = ['meta.k8s.io/v1', groupVersion];
  const type = { kind: 'DeleteOptions', groupVersion: 'v1', alsoVersions, schema, isCustom: false };
  return readBodyObject(context, type, 'Ignore');
}

function fromQuery(query: URLSearchParams): JsonObject {
  const grace = integerParameter(query, 'gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  return {
    ...(grace !== undefined && { gracePeriodSeconds: grace }),
    ...(policy && { propagationPolicy: policy }),
    ...(query.has('orphanDependents') && { orphanDependents: booleanParameter(query, 'orphanDependents') }),
    ...(query.has('dryRun') && { dryRun: query.getAll('dryRun') }),
  };
}
