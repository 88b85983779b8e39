/**
 * `/healthz`, `/livez` and `/readyz`: whether the server lives, and whether it can take requests.
 *
 * Parts of the server add checks of their own by name. Always true: every probe has `ping`; once the server is going,
 * `/readyz` fails and the others go on; why a check failed stays in the log, as probes are open to everybody.
 */
import type { RequestContext } from '../request/request-context.ts';

export type Probe = 'healthz' | 'livez' | 'readyz';

/** Throws, or rejects, when something is wrong. */
export type Check = () => void | Promise<void>;

const PROBES: readonly Probe[] = ['healthz', 'livez', 'readyz'];
const TEXT = 'text/plain; charset=utf-8';

export class Health {
  readonly #checks: Record<Probe, Map<string, Check>> = { healthz: new Map(), livez: new Map(), readyz: new Map() };
  readonly #log: (message: string) => void;
  #isStopping = false;

  constructor(log: (message: string) => void = () => {}) {
    this.#log = log;
    this.addCheck('ping', () => {});
    this.addCheck('shutdown', () => {
      if (this.#isStopping) throw new Error('the server is stopping');
    }, ['readyz']);
  }

  addCheck(name: string, check: Check, probes: readonly Probe[] = PROBES): void {
    for (const probe of probes) this.#checks[probe].set(name, check);
  }

  /** From now on nobody should send requests here any more. */
  stop(): void {
    this.#isStopping = true;
  }

  /** False: the path is not one of ours. Any method will do, as with kube-apiserver. */
  async handle(context: RequestContext): Promise<boolean> {
    const [, probe = '', ...names] = context.path.split('/');
    if (!isProbe(probe)) return false;
    const checks = this.#checks[probe];
    const name = names.join('/');
    if (names.length === 0) await this.#probe(context, probe, checks);
    else {
      const check = checks.get(name);
      if (!check) return false;
      const problem = await problemOf(check);
      if (problem !== undefined) this.#log(`Check ${probe}/${name} failed: ${problem}`);
      if (problem === undefined) context.send(200, TEXT, Buffer.from('ok'));
      else context.send(500, TEXT, Buffer.from(`internal server error: ${name} failed\n`));
    }
    return true;
  }

  async #probe(context: RequestContext, probe: Probe, checks: ReadonlyMap<string, Check>): Promise<void> {
    const excluded = new Set(context.query.getAll('exclude'));
    const lines: string[] = [];
    const failed: string[] = [];
    for (const [name, check] of checks) {
      if (excluded.delete(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const problem = await problemOf(check);
      if (problem === undefined) lines.push(`[+]${name} ok`);
      else {
        lines.push(`[-]${name} failed: reason withheld`);
        failed.push(`${name}: ${problem}`);
      }
    }
    if (excluded.size > 0) {
      const names = [...excluded].map((name) => JSON.stringify(name)).join(',');
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
    }
    if (failed.length > 0) {
      this.#log(`Probe ${probe} failed: ${failed.join('; ')}`);
      context.send(500, TEXT, Buffer.from([...lines, `${probe} check failed\n`].join('\n')));
    } else if (context.query.has('verbose')) {
      context.send(200, TEXT, Buffer.from([...lines, `${probe} check passed\n`].join('\n')));
    } else context.send(200, TEXT, Buffer.from('ok'));
  }
}

function isProbe(text: string): text is Probe {
  return (PROBES as readonly string[]).includes(text);
}

async function problemOf(check: Check): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (err) {
    return err instanceof Error ? err.message : String(err);
  }
}
