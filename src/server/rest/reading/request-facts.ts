/** Who asked for what: as much of a request as is worth keeping while its watch is open, and after it was refused. */
import { qualifiedName } from '../../registry/resource.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { decodeToken } from '../input/continue-token.ts';

export type RequestFacts = {
  readonly user: UserInfo;
  readonly impersonator: string | undefined;
  readonly userAgent: string | undefined;
  readonly address: string | undefined;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty: all of them. */
  readonly namespace: string;
  /** As it was asked for; empty: it was not. */
  readonly resourceVersion: string;
  readonly sendsInitialEvents: boolean;
};

/** What names cost: nobody makes the server keep more of theirs. */
const LONGEST_AGENT = 256;

export function requestFacts(context: RequestContext): RequestFacts {
  const { user, impersonator, headers, remoteAddress: address, requestInfo, query } = context;
  const { verb, group, version, resource, namespace } =
    requestInfo.kind === 'resource' ? requestInfo : { verb: '', group: '', version: '', resource: '', namespace: '' };
  const resourceVersion = (query.get('resourceVersion') ?? '').slice(0, 32);
  return {
    user,
    impersonator: impersonator?.username,
    userAgent: headers['user-agent']?.slice(0, LONGEST_AGENT),
    address,
    verb,
    group,
    version,
    resource,
    namespace,
    resourceVersion,
    sendsInitialEvents:
      query.get('sendInitialEvents') === 'true' || (verb === 'watch' && Number(resourceVersion) === 0),
  };
}

/** The revision that a list was to be of: its own, or that of the page before. */
export function listedRevision({ query }: RequestContext): number | undefined {
  const token = query.get('continue');
  if (!token) return Number(query.get('resourceVersion')) || undefined;
  try {
    return decodeToken(token, '').revision;
  } catch {
    return undefined;
  }
}

/** `pods`, `deployments.apps` */
export function resourceName({ resource, group }: RequestFacts): string {
  return qualifiedName({ plural: resource, group });
}
