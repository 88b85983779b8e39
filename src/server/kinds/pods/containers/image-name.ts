/**
 * Names of images as registries read them, as far as it decides whether an image is pulled again each time: the
 * newest is, one of a fixed tag or content is not. A text that is no name of an image has no tag.
 */
const hostPart = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/;
const pathPart = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tagText = /^\w[\w.-]{0,127}$/;
const digestText = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const limit = 255;

/** Names that were looked at before: the same few images run everywhere. A bounded number of short ones. */
const LIMIT = 1000;
const known = new Map<string, PullPolicy>();

type PullPolicy = 'Always' | 'IfNotPresent';

/** `Always` for the newest of an image, `IfNotPresent` for all else. */
export function pullPolicyOf(image: string): PullPolicy {
  let policy = known.get(image);
  if (policy) return policy;
  policy = tagOf(image) === 'latest' ? 'Always' : 'IfNotPresent';
  if (image.length > limit) return policy;
  if (known.size === LIMIT) known.clear(); // whoever is still in use comes back at once
  known.set(image, policy);
  return policy;
}

/** Undefined if the image is known by its content alone, or is no image. */
function tagOf(image: string): string | undefined {
  if (/^[0-9a-f]{64}$/.test(image)) return undefined;
  const at = image.indexOf('@');
  const tagged = at < 0 ? image : image.slice(0, at);
  if (at >= 0 && !digestText.test(image.slice(at + 1))) return undefined;
  const colon = tagged.indexOf(':', tagged.lastIndexOf('/') + 1);
  const name = colon < 0 ? tagged : tagged.slice(0, colon);
  if (!isName(name)) return undefined;
  if (colon < 0) return at < 0 ? 'latest' : undefined;
  const tag = tagged.slice(colon + 1);
  return tagText.test(tag) ? tag : undefined;
}

function isName(name: string): boolean {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const hasHost = slash >= 0 && (/[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first);
  const path = hasHost ? name.slice(slash + 1) : name;
  const whole = hasHost ? name : `docker.io/${slash < 0 ? 'library/' : ''}${name}`;
  if (whole.length > limit || !path.split('/').every((part) => pathPart.test(part))) return false;
  return !hasHost || isHost(first);
}

function isHost(text: string): boolean {
  if (text.startsWith('[')) return /^\[[0-9a-fA-F:]+\](?::[0-9]+)?$/.test(text);
  const [host = '', port, ...rest] = text.split(':');
  const isPort = port === undefined || /^[0-9]+$/.test(port);
  return rest.length === 0 && isPort && host.split('.').every((part) => hostPart.test(part));
}
