/** Who asks, as authentication found out: all that authorisation, admission and the audit log know of a user. */
export type UserInfo = {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
};
