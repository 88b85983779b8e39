/**
 * When etcd's word on progress can be believed.
 *
 * Notices on a timer (`progress_notify`) go through the same queue as events and only to a watch that is up to date:
 * true in every version. The answer to a progress request did not, before 3.4.31, 3.5.13 and 3.6: it could overtake
 * events and be given while the watch was still catching up, so a watch that believed it would skip events. On such
 * a member a request is not sent; it is answered by the next notice on the timer (`watch-progress-notify-interval`,
 * ten minutes unless the member is told otherwise).
 */
const firstTrusted: Readonly<Record<string, number>> = { '3.4': 31, '3.5': 13 };

/** Whether a member of this version answers progress requests truthfully. */
export function answersProgressTruly(version: string): boolean {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (!match) return false;
  const [major, minor, patch] = match.slice(1).map(Number) as [number, number, number];
  const first = firstTrusted[`${major}.${minor}`];
  if (first !== undefined) return patch >= first;
  return major > 3 || (major === 3 && minor >= 6);
}
