/** How a pod finds others by name: servers of names, paths to search, and names it is told itself. */
import {
  checkDnsSubdomain,
  type FieldError,
  invalidValue,
  type JsonObject,
  requiredValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { ipAddress } from '../../strategy/validation/ip-address.ts';

const mostServers = 3;
const mostPaths = 32;
const mostCharacters = 2048;
const searchPart = /^_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const searchText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

export function validateDnsConfig(spec: JsonObject, path: string, errors: FieldError[]): void {
  const config = objectAt(spec, 'dnsConfig');
  const servers = textsAt(config, 'nameservers');
  if (spec.dnsPolicy === 'None' && servers.length === 0) {
    const why = config ? 'at least one DNS nameserver' : '`dnsConfig`';
    const at = config ? `${path}.nameservers` : path;
    errors.push(requiredValue(at, `must provide ${why} when \`dnsPolicy\` is None`));
    return;
  }
  if (!config) return;
  if (servers.length > mostServers)
    errors.push(invalidValue(`${path}.nameservers`, servers, `must not have more than ${mostServers} nameservers`));
  for (const [index, server] of servers.entries())
    appendAll(errors, ipAddress(server, `${path}.nameservers[${index}]`, spec));
  validateSearches(textsAt(config, 'searches'), `${path}.searches`, errors);
  for (const [index, option] of objectsAt(config, 'options').entries())
    if (textAt(option, 'name') === '') errors.push(requiredValue(`${path}.options[${index}]`, 'must not be empty'));
}

function validateSearches(searches: readonly string[], path: string, errors: FieldError[]): void {
  if (searches.length > mostPaths)
    errors.push(invalidValue(path, searches, `must not have more than ${mostPaths} search paths`));
  if (searches.join(' ').length > mostCharacters) {
    const why = `must not have more than ${mostCharacters} characters (including spaces) in the search list`;
    errors.push(invalidValue(path, searches, why));
  }
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue;
    const name = search.endsWith('.') ? search.slice(0, -1) : search;
    const at = `${path}[${index}]`;
    if (name.length > 253) errors.push(invalidValue(at, name, 'must be no more than 253 characters'));
    if (!name.split('.').every((part) => searchPart.test(part))) errors.push(invalidValue(at, name, searchText));
  }
}

export function validateHostAliases(aliases: readonly JsonObject[], path: string, errors: FieldError[]): void {
  for (const [index, alias] of aliases.entries()) {
    const at = `${path}[${index}]`;
    appendAll(errors, ipAddress(textAt(alias, 'ip'), `${at}.ip`, alias));
    for (const [number, name] of textsAt(alias, 'hostnames').entries())
      for (const problem of checkDnsSubdomain(name))
        errors.push(invalidValue(`${at}.hostnames[${number}]`, name, problem));
  }
}
