/** Service accounts as users: their names, and the groups that follow from them. */

const NAME = /^system:serviceaccount:([^:]+):([^:]+)$/;

export function serviceAccountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/** Undefined for a user that is no service account. */
export function serviceAccountOf(username: string): { namespace: string; name: string } | undefined {
  const match = NAME.exec(username);
  return match ? { namespace: match[1]!, name: match[2]! } : undefined;
}
