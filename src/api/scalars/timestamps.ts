/** A time as the API writes most of them: RFC 3339 in whole seconds, UTC. `wallMs` is since 1970. */
export function rfc3339(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}
