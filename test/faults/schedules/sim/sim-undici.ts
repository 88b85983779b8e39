/**
 * Stands where `undici` stands: a client that opens connections to a simulated world instead of sockets. Worlds are found
 * by the origin they were given, such as `http://world-7`. Everything of ours above the HTTP client is as in earnest.
 */
import type { SimLine } from './sim-line.ts';

const worlds = new Map<string, SimLine>();

export function announceWorld(origin: string, line: SimLine): Disposable {
  worlds.set(origin, line);
  return { [Symbol.dispose]: () => void worlds.delete(origin) };
}

export type SimRequest = {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
  readonly signal: AbortSignal;
};

class SimClient {
  readonly #origin: string;
  readonly #gone = new AbortController();

  constructor(origin: string) {
    this.#origin = origin;
  }

  async request(request: SimRequest) {
    const line = worlds.get(this.#origin);
    if (!line) throw new Error(`there is no world at ${this.#origin}`);
    return line.carry(request, this.#gone.signal);
  }

  async close(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#gone.abort(new Error('the client is destroyed'));
  }
}

export { SimClient as Client, SimClient as Pool };

export function buildConnector(): () => void {
  return () => {};
}
