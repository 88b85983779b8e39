/** The two documents by which others can check our tokens, at the paths that OpenID Connect Discovery gives them. */
import { goJson } from '../codec/index.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';

const CONFIGURATION = '/.well-known/openid-configuration';
const KEYS = '/openid/v1/jwks';
const MAX_AGE = { 'Cache-Control': 'public, max-age=3600' };

/** `url`: where this server is reached. False: not a path of ours, and nothing has been answered. */
export function handleOpenId(context: RequestContext, tokens: ServiceAccountTokens, url: () => string): boolean {
  const { path, method } = context;
  if (path !== CONFIGURATION && path !== KEYS) return false;
  if (method !== 'GET') {
    context.send(405, 'text/plain; charset=utf-8', Buffer.from('Method Not Allowed\n'));
    return true;
  }
  const isConfiguration = path === CONFIGURATION;
  const document = isConfiguration ? tokens.configuration(`${url()}${KEYS}`) : tokens.keySet();
  const type = isConfiguration ? 'application/json' : 'application/jwk-set+json';
  context.send(200, type, Buffer.from(goJson(document)), MAX_AGE);
  return true;
}
