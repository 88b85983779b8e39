/**
 * Whether a request comes from where it says: the browser's own page and nobody else's.
 *
 * - Another name for our address (DNS rebinding) shows in `Host`: only the names we were started under are ours.
 * - Another site's page (CSRF, or reading across ports) shows in `Origin` and `Sec-Fetch-Site`, which scripts cannot set.
 *
 * What carries neither is no browser: it still needs the secrets.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** `hosts`: with their port, as a browser sends them. */
function isOwnHost(host: string | undefined, hosts: readonly string[]): boolean {
  return host !== undefined && hosts.includes(host.toLowerCase());
}

/** Why a request is refused, or undefined. `isNavigation`: somebody has followed a link or typed the address. */
export function refusalOfPage(
  headers: IncomingHttpHeaders,
  { hosts, scheme, isNavigation }: { hosts: readonly string[]; scheme: 'http' | 'https'; isNavigation: boolean },
): string | undefined {
  const { host, origin } = headers;
  if (!isOwnHost(host, hosts)) return `Cannot answer for the host ${JSON.stringify(host ?? '')}: it is not ours`;
  if (origin !== undefined && origin !== `${scheme}://${host}`)
    return `Cannot answer a page of ${JSON.stringify(origin)}: it is not ours`;
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin') return undefined;
  if (isNavigation && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document')
    return undefined; // to look at a page that holds nothing
  return `Cannot answer a page of another site (${JSON.stringify(site)})`;
}
