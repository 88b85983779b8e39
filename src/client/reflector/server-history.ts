/**
 * Which history the versions of a server belong to. A version is a number; a server that has lost its data gives the
 * same numbers out again, for other objects, and a watch from one of them looks as if nothing had happened.
 *
 * There are two ways to know. Servers of ours name their history in every answer (`HISTORY_HEADER`); who goes on from a
 * version names the history it had that version from, and is refused with 410 where that is no part of the server's
 * own. Of other servers it is the uid of the namespace `kube-system`, by custom: it is asked for after a watch has been
 * accepted, by all watches of a client that wait at that time together, and before a list that a watch will go on from. Where
 * neither can be had (a right that is missing) nothing is known, and audits have to find out.
 */
import { untilAborted } from '../../api/index.ts';
import { isApiError } from '../errors.ts';
import type { Transport } from '../transport/transport.ts';
import type { Headers } from '../transport/transport-options.ts';

const HISTORY_HEADER = 'longwatch-history';

/** `named` by the server, or found by its `uid`. */
export type History = { readonly by: 'name' | 'uid'; readonly id: string };

export function namedHistory(headers: Headers): History | undefined {
  const id = headers[HISTORY_HEADER];
  return typeof id === 'string' && id !== '' ? { by: 'name', id } : undefined;
}

/** What a request that goes on from a version says. */
export function historyHeaders(history: History | undefined): Record<string, string> {
  return history?.by === 'name' ? { [HISTORY_HEADER]: history.id } : {};
}

/** As a word for a file, and back. */
export function historyText({ by, id }: History): string {
  return `${by} ${id}`;
}

export function historyIn(text: string | undefined): History | undefined {
  const [, by, id] = /^(name|uid) (\S+)$/.exec((text ?? '').slice(0, 1_000)) ?? [];
  return by && id ? { by: by as History['by'], id } : undefined;
}

/** After a refusal, it is not asked for again for so long. */
const REFUSED_MS = 600_000;
const TRIES = 5;
const PAUSE_MS = 2_000;

class UidProbe {
  readonly #transport: Transport;
  #running: Promise<string | undefined> | undefined;
  #next: Promise<string | undefined> | undefined;
  #refusedUntil = Number.NEGATIVE_INFINITY;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** By a request that is sent after this call; those who come while one is on its way share the next. */
  ask(): Promise<string | undefined> {
    if (this.#transport.clock.now() < this.#refusedUntil) return Promise.resolve(undefined);
    if (!this.#running) {
      this.#running = this.#send().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.ask();
      });
    return this.#next;
  }

  async #send(): Promise<string | undefined> {
    const path = '/api/v1/namespaces/kube-system';
    try {
      const { body } = await this.#transport.request<{ metadata?: { uid?: unknown } }>('GET', path, { maxTries: 1 });
      const uid = body?.metadata?.uid;
      return typeof uid === 'string' ? uid : undefined;
    } catch (error) {
      if (isApiError(error) && error.code < 500 && error.code !== 429) {
        this.#refusedUntil = this.#transport.clock.now() + REFUSED_MS;
        return undefined;
      }
      throw error;
    }
  }
}

const probes = new WeakMap<Transport, UidProbe>();

function probeOf(transport: Transport): UidProbe {
  const probe = probes.get(transport) ?? new UidProbe(transport);
  probes.set(transport, probe);
  return probe;
}

/**
 * To be asked before a list that a watch will go on from: what is found when that watch has been accepted says nothing of a
 * server that was lost between the two. Undefined if it cannot be known; fails as the list would.
 */
export async function askHistoryBefore(transport: Transport, signal: AbortSignal): Promise<History | undefined> {
  const uid = await untilAborted(probeOf(transport).ask(), signal);
  return uid === undefined ? undefined : { by: 'uid', id: uid };
}

/** Undefined if it cannot be known; rejects by the signal only. */
export async function askHistory(transport: Transport, signal: AbortSignal): Promise<History | undefined> {
  const probe = probeOf(transport);
  for (let tries = 1; tries <= TRIES; tries++) {
    const asked = probe.ask().then(
      (found) => ({ found }),
      () => undefined,
    );
    const uid = await untilAborted(asked, signal);
    if (uid) return uid.found === undefined ? undefined : { by: 'uid', id: uid.found };
    await transport.clock.sleep(PAUSE_MS, signal);
  }
  return undefined;
}
