/**
 * A manager's health over HTTP, for probes: a handler for `node:http` that needs no framework.
 *
 *     createServer(healthHandler(manager)).listen(8081);
 *
 * `/livez` and `/readyz` answer 200 `ok`, or 503 and what is wrong; with `?verbose` every check. Anything else is 404.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ManagerHealth } from './manager-options.ts';

type Check = { readonly name: string; readonly problem: string };

export function healthHandler(manager: {
  health(): ManagerHealth;
}): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const [path = '', query = ''] = (request.url ?? '/').split('?', 2); // `URL` throws at some
    const isProbe = path === '/livez' || path === '/readyz' || path === '/healthz';
    if (!isProbe) return answer(response, 404, `Cannot find ${path}: there are /livez and /readyz\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'Cannot do this: only GET\n');
    const health = manager.health();
    const isReadiness = path === '/readyz';
    const isWell = isReadiness ? health.isReady : health.isLive;
    const checks = isReadiness ? readinessOf(health) : livenessOf(health);
    const verdict = `${path.slice(1)} check ${isWell ? 'passed' : 'failed'}\n`;
    if (isWell && !new URLSearchParams(query).has('verbose')) return answer(response, 200, 'ok');
    return answer(response, isWell ? 200 : 503, `${checks.map(lineOf).join('')}${verdict}`);
  };
}

function readinessOf({ informers, problems }: ManagerHealth): Check[] {
  const all = informers.map(({ name, why }) => ({ name: `informer ${name}`, problem: why }));
  const others = problems.filter((text) => !all.some(({ name }) => text.startsWith(`${name}: `)));
  return [{ name: 'manager', problem: others.join('; ') }, ...all];
}

function livenessOf({ isLive, problems }: ManagerHealth): Check[] {
  return [{ name: 'manager', problem: isLive ? '' : problems.join('; ') }];
}

function lineOf({ name, problem }: Check): string {
  return problem === '' ? `[+]${name} ok\n` : `[-]${name} failed: ${problem}\n`;
}

function answer(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}
