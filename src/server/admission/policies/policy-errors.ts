/** What keeps a policy from being asked at all, in kube-apiserver's words; its failure policy says what follows. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** `g/v1, Kind=K`, as Go prints it. */
export function kindText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`;
}
