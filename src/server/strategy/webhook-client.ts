/**
 * Where a webhook is called: by URL, or by the Service it stands behind. Used for admission and for conversion.
 *
 * A URL is read the way Go's `net/url` reads it, as far as the faults tell of it; of what cannot be read at all, the
 * commonest reasons are told in its words.
 */

import { quote } from '../../api/errors/field-error.ts';
import { checkDnsSubdomain, type FieldError, invalidValue, type JsonObject, requiredValue } from '../../api/index.ts';
import { portNumber } from './validation/checks.ts';
import { numberAt, objectAt, textAt } from './validation/fields.ts';

const FORM = '; desired format: https://host[/path]';

/** Exactly one of both; an absent port stands for 443. */
export function checkWebhookClient(client: JsonObject | undefined, path: string): FieldError[] {
  const service = objectAt(client, 'service');
  const hasUrl = typeof client?.url === 'string';
  if (hasUrl === (service !== undefined)) return [requiredValue(path, 'exactly one of url or service is required')];
  return service ? checkService(service, `${path}.service`) : checkUrl(textAt(client, 'url'), `${path}.url`);
}

function checkUrl(text: string, path: string): FieldError[] {
  const url = readUrl(text);
  if (typeof url === 'string') return [requiredValue(path, `url must be a valid URL: ${url}${FORM}`)];
  const errors: FieldError[] = [];
  if (url.scheme !== 'https')
    errors.push(invalidValue(path, url.scheme, `'https' is the only allowed URL scheme${FORM}`));
  if (url.host === '') errors.push(invalidValue(path, url.host, `host must be specified${FORM}`));
  if (url.user !== undefined) errors.push(invalidValue(path, url.user, 'user information is not permitted in the URL'));
  if (url.fragment !== '') errors.push(invalidValue(path, url.fragment, 'fragments are not permitted in the URL'));
  if (url.query !== '') errors.push(invalidValue(path, url.query, 'query parameters are not permitted in the URL'));
  return errors;
}

type Url = { scheme: string; host: string; user: string | undefined; query: string; fragment: string };

/** A text is the reason why it is none. */
function readUrl(text: string): Url | string {
  const fail = (why: string) => `parse ${quote(text)}: ${why}`;
  const [whole, fragment] = cut(text, '#');
  if (/[\x00-\x1f\x7f]/.test(whole)) return fail('net/url: invalid control character in URL');
  const badEscape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(whole);
  if (whole.startsWith(':')) return fail('missing protocol scheme');
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(whole)?.[1] ?? '';
  const [rest, query] = cut(scheme === '' ? whole : whole.slice(scheme.length + 1), '?');
  if (scheme === '' && rest.split('/')[0]!.includes(':')) return fail('first path segment in URL cannot contain colon');
  const authority = rest.startsWith('//') ? rest.slice(2).split('/')[0]! : '';
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  if (/[ "<>]/.test(host)) return fail(`invalid character ${quote(/[ "<>]/.exec(host)![0])} in host name`);
  const port = /:([^:\]]*)$/.exec(host)?.[1];
  if (port !== undefined && !/^[0-9]*$/.test(port)) return fail(`invalid port ${quote(`:${port}`)} after host`);
  if (badEscape) return fail(`invalid URL escape ${quote(badEscape[0])}`);
  return { scheme: scheme.toLowerCase(), host, user: at < 0 ? undefined : authority.slice(0, at), query, fragment };
}

function cut(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** What is missing is told under the other's name: so does kube-apiserver. */
function checkService(service: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (textAt(service, 'namespace') === '') errors.push(requiredValue(`${path}.name`));
  if (textAt(service, 'name') === '') errors.push(requiredValue(`${path}.namespace`));
  const port = numberAt(service, 'port') ?? 443;
  for (const _ of portNumber(port, '', service))
    errors.push(invalidValue(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'));
  return [...errors, ...checkUrlPath(textAt(service, 'path'), `${path}.path`)];
}

function checkUrlPath(text: string, path: string): FieldError[] {
  if (text === '' || text === '/') return [];
  if (text === '//') return [invalidValue(path, text, 'segment[0] may not be empty')];
  const errors = text.startsWith('/') ? [] : [invalidValue(path, text, "must start with a '/'")];
  const segments = text.slice(1).replace(/\/$/, '').split('/');
  for (const [index, segment] of segments.entries()) {
    if (segment === '') errors.push(invalidValue(path, text, `segment[${index}] may not be empty`));
    else
      for (const problem of checkDnsSubdomain(segment))
        errors.push(invalidValue(path, text, `segment[${index}]: ${problem}`));
  }
  return errors;
}
