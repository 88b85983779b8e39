/**
 * The page of an operator's inside, over HTTP: a handler for `node:http` that needs no framework.
 *
 *     createServer(dashboardHandler(manager)).listen(8082, '127.0.0.1');
 *
 * It shows informers with their freshness, queues with depth and age, the last reconciles with causes, durations and failures, and
 * who leads: names of objects and texts of errors, to whoever can reach it. So it answers to the names of this machine only
 * (`localhost`, 127.0.0.1: what `kubectl port-forward` gives) and to those in `hosts`; requests of other sites' pages are refused.
 * It changes nothing: only GET is answered. Mounted below a path, `path` says which.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pageFile, pageHeaders, refusalOfPage } from '../../web/index.ts';
import type { Manager } from './manager.ts';
import { operatorState } from './operator-state.ts';

export type DashboardOptions = {
  /** What the page calls the operator. */
  readonly name?: string | undefined;
  /** Where it is mounted: `/` without it. */
  readonly path?: string | undefined;
  /** Other host names it answers to, without their port. */
  readonly hosts?: readonly string[] | undefined;
};

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

export function dashboardHandler(
  manager: Manager,
  options: DashboardOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  const { name = 'operator', path: mount = '/', hosts = [] } = options;
  const base = mount.endsWith('/') ? mount : `${mount}/`;
  const own = new Set([...LOOPBACK, ...hosts].map((host) => host.toLowerCase()));
  return (request, response) => {
    const [path = ''] = (request.url ?? '/').split('?', 1);
    const { host = '' } = request.headers;
    const scheme = 'encrypted' in request.socket ? 'https' : 'http';
    const known = own.has(nameOf(host)) ? [host.toLowerCase()] : [];
    const refusal = refusalOfPage(request.headers, {
      hosts: known,
      scheme,
      isNavigation: [base, base.slice(0, -1)].includes(path),
    });
    if (refusal !== undefined) return answer(response, 403, 'text/plain; charset=utf-8', `${refusal}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'text/plain; charset=utf-8', 'Cannot do this: the page only reads\n');
    if (`${path}/` === base) {
      response.writeHead(308, { ...pageHeaders(), location: base }).end();
      return undefined;
    }
    const file = path.startsWith(base) ? path.slice(base.length) : undefined;
    if (file === 'page.json') return json(response, { kind: 'operator', name });
    if (file === 'operator.json') return json(response, operatorState(manager));
    const found = file === undefined ? undefined : pageFile(file);
    if (found) return answer(response, 200, found.type, found.bytes);
    return answer(response, 404, 'text/plain; charset=utf-8', `Cannot find ${path}: the page is at ${base}\n`);
  };
}

/** Without its port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:[0-9]{1,5}$/, '');
}

function json(response: ServerResponse, value: object): void {
  answer(response, 200, 'application/json', JSON.stringify(value));
}

function answer(response: ServerResponse, code: number, type: string, body: string | Buffer): void {
  response.writeHead(code, { ...pageHeaders(), 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
