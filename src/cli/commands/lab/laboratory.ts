/**
 * Where experiments run: servers of their own on this machine, a live plot on a terminal, a limit of time, and everything
 * cleared away after it.
 */
import { greatestOf } from '../../../api/index.ts';
import { KubeClient, KubeConfig } from '../../../client/index.ts';
import { startTestServer } from '../../../testing/index.ts';
import type { Io } from '../../terminal/io.ts';
import { VerbError } from '../../terminal/run-verb.ts';
import type { Lab } from './experiment.ts';

const LIMIT_MS = 115_000;
const DRAW_MS = 100;
const BARS = '▁▂▃▄▅▆▇█';

export async function withLab<T>(io: Io, run: (lab: Lab) => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  const signal = AbortSignal.any([io.signal, limit]);
  const kept: AsyncDisposable[] = [];
  const plot = new Plot(io);
  const keep = <K extends AsyncDisposable>(one: K): K => {
    kept.push(one);
    return one;
  };
  const lab: Lab = {
    signal,
    keep,
    server: async (options = {}) => keep(await startTestServer(options)),
    client: async ({ kubeconfigPath }) => {
      const config = await KubeConfig.load({ paths: [kubeconfigPath] });
      return keep(new KubeClient(config.access({ env: {} }), { userAgent: 'longwatch-lab' }));
    },
    plot: (what, value) => plot.add(what, value),
    say: (line) => {
      plot.end();
      io.note(`  ... ${line}`);
    },
  };
  try {
    return await run(lab);
  } catch (err) {
    if (!limit.aborted || io.signal.aborted) throw err;
    throw new VerbError(
      `The experiment did not end within ${LIMIT_MS / 1000} s`,
      'Is the machine busy? Try again when it is not.',
      { cause: err },
    );
  } finally {
    plot.end();
    for (const one of kept.reverse()) await one[Symbol.asyncDispose]();
  }
}

/** The last values of one thing, as a line that is drawn over. Nothing without a terminal. */
class Plot {
  readonly #io: Io;
  #what = '';
  #values: number[] = [];
  #drawnAt = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  add(what: string, value: number): void {
    if (!this.#io.isNoteTerminal) return;
    if (what !== this.#what) this.end();
    this.#what = what;
    const now = performance.now();
    if (now - this.#drawnAt < DRAW_MS) return;
    this.#drawnAt = now;
    const room = Math.max(10, this.#io.columns - what.length - 16);
    this.#values = [...this.#values, value].slice(-room);
    const most = Math.max(1e-9, greatestOf(this.#values));
    const bars = this.#values
      .map((one) => BARS[Math.min(BARS.length - 1, Math.floor((one / most) * BARS.length))])
      .join('');
    this.#io.draw(`\r\x1b[K  ${what} ${bars} ${Math.round(value * 10) / 10}`);
  }

  /** What is drawn stays; the next begins in a line of its own. */
  end(): void {
    if (this.#values.length > 0) this.#io.draw('\n');
    this.#values = [];
    this.#what = '';
  }
}
