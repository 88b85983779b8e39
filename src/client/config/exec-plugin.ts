/**
 * Credentials from a program: client.authentication.k8s.io/v1 and v1beta1.
 *
 * The program is run when there is no answer yet, when the last one has expired, and after the server has refused it;
 * never twice at once. It gets KUBERNETES_EXEC_INFO, and our stdin only if its mode wants that and stdin is a terminal.
 * What it writes to stderr goes to the user's terminal when it talks with the user, and else into the error.
 */
import { untilAborted } from '../../api/abort.ts';
import { ConfigError } from '../errors.ts';
import type { Credentials, Identity } from './credentials.ts';
import type { ExecEntry } from './kubeconfig-file.ts';
import { type ProgramResult, runProgram } from './run-program.ts';

/** What a plugin gets to know of the cluster if it asks for that. */
export type ExecCluster = {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
};

export type ExecPluginOptions = {
  readonly cluster?: (() => Promise<ExecCluster>) | undefined;
  /** Of the program, under what its configuration sets: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Whether stdin can be lent: it is a terminal. */
  readonly isTerminal?: (() => boolean) | undefined;
  /** Milliseconds since 1970, for expiry: the clock of the machine. */
  readonly now?: (() => number) | undefined;
  /** How long a program that cannot talk with the user may take: 60 s. */
  readonly timeoutMs?: number | undefined;
};

type Answer = Identity & { readonly expiresAt: number };

/** An answer is not used in its last moments: it would expire on the way. */
const LEEWAY_MS = 5_000;

export class ExecPlugin implements Credentials {
  readonly #exec: ExecEntry;
  readonly #what: string;
  readonly #options: ExecPluginOptions;
  #answer: Answer | undefined;
  #running: Promise<Answer> | undefined;

  constructor(exec: ExecEntry, what: string, options: ExecPluginOptions = {}) {
    this.#exec = exec;
    this.#what = what;
    this.#options = options;
  }

  /** It may talk with the user, who takes as long as they want. */
  get isInteractive(): boolean {
    return this.#exec.interactiveMode !== 'Never' && this.#hasTerminal();
  }

  async current(signal?: AbortSignal): Promise<Identity> {
    const now = this.#options.now ?? Date.now;
    if (this.#answer && now() < this.#answer.expiresAt - LEEWAY_MS) return this.#answer;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    // Others may wait for the same run, so an abort ends the waiting and not the program.
    this.#answer = await untilAborted(this.#running, signal);
    return this.#answer;
  }

  refused(identity: Identity): boolean {
    const { authorization, cert } = this.#answer ?? {};
    // An older answer was refused: there is a newer one already.
    if (this.#answer && identity.authorization === authorization && identity.cert === cert) this.#answer = undefined;
    return true;
  }

  async #run(): Promise<Answer> {
    const { command, args, env, apiVersion, interactiveMode, provideClusterInfo, installHint } = this.#exec;
    const isTerminal = this.#hasTerminal();
    if (interactiveMode === 'Always' && !isTerminal)
      throw this.#error('it must talk with the user (interactiveMode "Always"), but stdin is no terminal');
    const interactive = interactiveMode !== 'Never' && isTerminal;
    const cluster = provideClusterInfo ? await this.#options.cluster?.() : undefined;
    const info = { kind: 'ExecCredential', apiVersion, spec: { ...(cluster && { cluster }), interactive } };
    let result: ProgramResult;
    try {
      result = await runProgram(command, args, {
        env: { ...(this.#options.env ?? process.env), ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        isInteractive: interactive,
        timeoutMs: interactive ? 0 : (this.#options.timeoutMs ?? 60_000),
      });
    } catch (cause) {
      const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
      const why = isMissing ? 'there is no such program' : (cause as Error).message;
      throw this.#error(isMissing && installHint ? `${why}. ${installHint}` : why, cause);
    }
    const { exit, stdout, stderr } = result;
    if (exit !== '0') throw this.#error(`it ended with ${exit}${stderr.trim() && `: ${stderr.trim()}`}`);
    return this.#read(stdout);
  }

  #read(text: string): Answer {
    let parsed: {
      kind?: unknown;
      apiVersion?: unknown;
      status?: { token?: string; clientCertificateData?: string; clientKeyData?: string; expirationTimestamp?: string };
    };
    try {
      parsed = JSON.parse(text) ?? {};
    } catch {
      throw this.#error(`its output is no JSON (${text.length} characters)`); // the parser would quote it
    }
    const { apiVersion } = this.#exec;
    if (parsed.kind !== 'ExecCredential')
      throw this.#error(`its output is no ExecCredential, kind is ${show(parsed.kind)}`);
    if (parsed.apiVersion !== apiVersion)
      throw this.#error(`its output has apiVersion ${show(parsed.apiVersion)}, and "${apiVersion}" was asked for`);
    const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = parsed.status ?? {};
    if (!token && !cert && !key) throw this.#error('its output has neither status.token nor a client certificate');
    if (!cert !== !key) throw this.#error('its output has only one of status.clientCertificateData and clientKeyData');
    const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
    if (Number.isNaN(expiresAt)) throw this.#error(`its status.expirationTimestamp is ${show(expirationTimestamp)}`);
    return { ...(token && { authorization: `Bearer ${token}` }), ...(cert && key && { cert, key }), expiresAt };
  }

  #hasTerminal(): boolean {
    return (this.#options.isTerminal ?? (() => process.stdin.isTTY === true))();
  }

  #error(why: string, cause?: unknown): ConfigError {
    return new ConfigError(`Cannot get credentials from "${this.#exec.command}" (${this.#what}): ${why}`, { cause });
  }
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? 'absent';
}
