/** Who asked, in the words of the objects that tell of it. */
import type { JsonObject } from '../../api/index.ts';
import type { RequestFacts } from '../rest/reading/request-facts.ts';
import { type Fields, text, texts } from './live-kind.ts';

export const requestFields: Fields = {
  user: text('Who asked.'),
  groups: texts('The groups of who asked.'),
  impersonatedBy: text('Who really asked, in the name of the user.'),
  userAgent: text('The program that asked, as it calls itself.'),
  address: text('Where the connection comes from.'),
  group: text('The API group of the resource; empty for the core group.'),
  version: text('The API version that was asked for.'),
  resource: text('The resource, in its plural.'),
  namespace: text('The namespace; absent: all of them, or the resource has none.'),
};

export function requestSpec(request: RequestFacts): JsonObject {
  const { user, impersonator, userAgent, address, group, version, resource, namespace } = request;
  return {
    user: user.username,
    groups: [...user.groups],
    ...(impersonator !== undefined && { impersonatedBy: impersonator }),
    ...(userAgent !== undefined && { userAgent }),
    ...(address !== undefined && { address }),
    group,
    version,
    resource,
    ...(namespace !== '' && { namespace }),
  };
}
