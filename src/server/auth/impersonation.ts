/**
 * Acting as somebody else: `Impersonate-User` and its companions, what kubectl sends for `--as`.
 *
 * Always true: every part of the other identity (user, each group, uid, each extra) needs the right `impersonate`; the
 * result is exactly what was asked for plus the groups that follow from the name.
 */
import { plainError } from '../../api/errors/status-error.ts';
import type { UserInfo } from '../request/user-info.ts';
import { asAuthenticated } from './authenticator.ts';
import { type Attributes, type Authorizer, forbiddenBy } from './authorizer.ts';
import { serviceAccountGroups, serviceAccountOf } from './service-account-name.ts';

/** `rawHeaders`: names and values in turn, repeated headers apart. */
export async function impersonate(
  user: UserInfo,
  rawHeaders: readonly string[],
  authorizer: Authorizer,
): Promise<UserInfo> {
  const asked = askedIdentity(rawHeaders);
  if (!asked) return user;
  const { username, groups, uid, extra } = asked;
  for (const attributes of rightsFor(asked)) {
    const { allowed, reason } = await authorizer.authorize(user, attributes);
    if (!allowed) throw forbiddenBy(user, attributes, reason);
  }
  const account = serviceAccountOf(username);
  const implied = groups.length === 0 && account ? serviceAccountGroups(account.namespace) : [];
  const own = [...groups, ...implied];
  const other = {
    username,
    ...(uid !== undefined && { uid }),
    groups: own,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  if (username !== 'system:anonymous') return asAuthenticated(other);
  return own.includes('system:unauthenticated') ? other : { ...other, groups: [...own, 'system:unauthenticated'] };
}

/** A cheap look before anything else: hardly any request has such a header. */
export function isImpersonating(headers: NodeJS.Dict<string | string[]>): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

type Identity = { username: string; groups: string[]; uid: string | undefined; extra: Record<string, string[]> };

const EXTRA_PREFIX = 'impersonate-extra-';

function askedIdentity(rawHeaders: readonly string[]): Identity | undefined {
  const asked: Identity = { username: '', groups: [], uid: undefined, extra: {} };
  let isAsked = false;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const value = rawHeaders[i + 1]!;
    if (!name.startsWith('impersonate-')) continue;
    // An empty user or uid asks for nothing, an empty group is a group.
    isAsked ||= value !== '' || (name !== 'impersonate-user' && name !== 'impersonate-uid');
    if (name === 'impersonate-user') asked.username ||= value;
    else if (name === 'impersonate-group') asked.groups.push(value);
    else if (name === 'impersonate-uid') asked.uid ??= value;
    else if (name.startsWith(EXTRA_PREFIX)) {
      const key = unescapeKey(name.slice(EXTRA_PREFIX.length));
      if (Object.hasOwn(asked.extra, key)) asked.extra[key]!.push(value);
      else Object.defineProperty(asked.extra, key, { value: [value], enumerable: true, configurable: true });
    }
  }
  if (!isAsked) return undefined;
  if (asked.username === '') throw plainError('requested impersonation of groups, uid or extra without a user');
  return asked;
}

function rightsFor({ username, groups, uid, extra }: Identity): Attributes[] {
  const right = (
    resource: string,
    name: string,
    more: { group?: string; namespace?: string; subresource?: string } = {},
  ) =>
    ({
      kind: 'resource',
      verb: 'impersonate',
      group: '',
      version: 'v1',
      resource,
      subresource: '',
      namespace: '',
      name,
      ...more,
    }) as const;
  const account = serviceAccountOf(username);
  const authentication = { group: 'authentication.k8s.io' };
  return [
    account ? right('serviceaccounts', account.name, { namespace: account.namespace }) : right('users', username),
    ...groups.map((group) => right('groups', group)),
    ...(uid === undefined ? [] : [right('uids', uid, authentication)]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => right('userextras', value, { ...authentication, subresource: key })),
    ),
  ];
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
