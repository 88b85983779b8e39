/**
 * Who we are to a cluster, at this moment: an Authorization header, a client certificate, both or neither.
 *
 * Credentials are asked before every request, so they answer from memory whenever they can. When the server does not
 * accept an identity (401), `refused` says whether asking again can give another one; the transport then tries once
 * more, and only once. They may be code of the user's: what they throw, or give that is no identity, is a ConfigError
 * (`identityOf`), and one that does not answer has as long as the server has.
 */
import { CallbackError, untilAborted } from '../../api/index.ts';
import { ConfigError, isTransportError } from '../errors.ts';
import { ExecPlugin, type ExecPluginOptions } from './exec-plugin.ts';
import type { From, UserEntry } from './kubeconfig-file.ts';
import { RotatingFile, type RotatingFileOptions } from './rotating-file.ts';

export type Identity = {
  readonly authorization?: string;
  /** PEM; both or neither. */
  readonly cert?: string;
  readonly key?: string;
};

export interface Credentials {
  current(signal?: AbortSignal): Promise<Identity>;
  /** True if `current` may give another identity now. */
  refused(identity: Identity): boolean;
  /** True if `current` may wait for a person: then a request waits for it without a limit. */
  readonly isInteractive?: boolean;
}

export const noCredentials: Credentials = { current: async () => ({}), refused: () => false };

/** Asks them, whatever they are. Rejects with `signal.reason` as soon as the signal fires, and else with ConfigError. */
export async function identityOf(credentials: Credentials, signal: AbortSignal): Promise<Identity> {
  try {
    const identity: unknown = await untilAborted(Promise.resolve(credentials.current(signal)), signal);
    const fields = (identity ?? undefined) as Partial<Record<'authorization' | 'cert' | 'key', unknown>> | undefined;
    if (typeof fields !== 'object') throw new TypeError('it gave no identity');
    for (const name of ['authorization', 'cert', 'key'] as const)
      if (fields[name] !== undefined && typeof fields[name] !== 'string') throw new TypeError(`its ${name} is no text`);
    if (typeof fields.authorization === 'string' && /[^\t\x20-\x7e\x80-\xff]/.test(fields.authorization))
      throw new TypeError('its authorization cannot be sent in a header');
    return identity as Identity;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ConfigError || isTransportError(error)) throw error;
    throw configError('credentials.current', error);
  }
}

/** Whether there may be another identity. */
export function mayHaveAnother(credentials: Credentials, refused: Identity): boolean {
  try {
    const answer: unknown = credentials.refused(refused);
    if (answer instanceof Promise) answer.catch(() => {}); // no yes, whatever comes of it
    return answer === true;
  } catch (error) {
    throw configError('credentials.refused', error);
  }
}

function configError(callback: string, error: unknown): ConfigError {
  const cause = new CallbackError(callback, '', 'the client', error);
  return new ConfigError(cause.message, { cause });
}

export type CredentialsOptions = RotatingFileOptions & ExecPluginOptions;

/** Several sources side by side, as kubectl has it: what stands in the file itself goes before what a plugin says. */
export function credentialsOf({ entry, origin, path }: From<UserEntry>, options: CredentialsOptions = {}): Credentials {
  const named = (field: string) => `${path}.${field} of "${origin}"`;
  const refuse = (field: string, complaint: string) => {
    throw new ConfigError(`Cannot use kubeconfig "${origin}": ${path}.${field} ${complaint}`);
  };
  if (entry.authProvider !== undefined)
    refuse(
      'auth-provider',
      `"${entry.authProvider}" is not supported: use an exec plugin, as kubectl itself has since 1.26`,
    );
  const hasCert = entry.certData !== undefined || entry.certFile !== undefined;
  const hasKey = entry.keyData !== undefined || entry.keyFile !== undefined;
  if (hasCert && !hasKey) refuse('client-key', 'must be set where client-certificate is');
  if (hasKey && !hasCert) refuse('client-certificate', 'must be set where client-key is');
  const hasToken = entry.token !== undefined || entry.tokenFile !== undefined;
  const hasName = entry.username !== undefined || entry.password !== undefined;
  if (hasToken && hasName) refuse('username', 'must not be set beside a token');

  const parts: Credentials[] = [];
  if (entry.tokenFile !== undefined)
    parts.push(tokenFileCredentials(new RotatingFile(entry.tokenFile, named('tokenFile'), options)));
  else if (entry.token !== undefined) parts.push(tokenCredentials(entry.token));
  else if (hasName) parts.push(basicCredentials(entry.username ?? '', entry.password ?? ''));
  if (hasCert) {
    const cert = entry.certData ?? new RotatingFile(entry.certFile!, named('client-certificate'), options);
    const key = entry.keyData ?? new RotatingFile(entry.keyFile!, named('client-key'), options);
    parts.push(certificateCredentials(cert, key));
  }
  if (entry.exec) parts.push(new ExecPlugin(entry.exec, named('exec'), options));
  return parts.length === 1 ? parts[0]! : together(parts);
}

export function tokenCredentials(token: string): Credentials {
  return fixed({ authorization: `Bearer ${token.trim()}` });
}

export function basicCredentials(username: string, password: string): Credentials {
  return fixed({ authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` });
}

export function tokenFileCredentials(file: RotatingFile): Credentials {
  return {
    current: async () => ({ authorization: `Bearer ${(await file.text()).trim()}` }),
    refused: () => {
      file.expire();
      return true;
    },
  };
}

export function certificateCredentials(cert: string | RotatingFile, key: string | RotatingFile): Credentials {
  if (typeof cert === 'string' && typeof key === 'string') return fixed({ cert, key });
  return {
    current: async () => ({ cert: await textOf(cert), key: await textOf(key) }),
    refused: () => {
      for (const part of [cert, key]) if (typeof part !== 'string') part.expire();
      return true;
    },
  };
}

function fixed(identity: Identity): Credentials {
  return { current: async () => identity, refused: () => false };
}

/** The first that has a header gives the header; the first that has a certificate gives that. */
function together(parts: readonly Credentials[]): Credentials {
  return {
    async current(signal) {
      let identity: Identity = {};
      for (const part of parts) identity = { ...(await part.current(signal)), ...identity };
      return identity;
    },
    refused: (identity) => parts.map((part) => part.refused(identity)).includes(true),
    get isInteractive() {
      return parts.some((part) => part.isInteractive === true);
    },
  };
}

async function textOf(source: string | RotatingFile): Promise<string> {
  return typeof source === 'string' ? source : source.text();
}
