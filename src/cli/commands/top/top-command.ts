/**
 * `longwatch top`: a server of ours at work, drawn anew every second: the chain with its rates, caches, priority levels,
 * watches sorted by how far they are behind; keys sort, filter, open and end one. Without a terminal it prints one look.
 */
import { type Command, Option } from 'commander';
import { addClusterOptions, type ClusterFlags, connectTo } from '../../cluster/cluster-flags.ts';
import { Introspection } from '../../cluster/introspection.ts';
import type { Io } from '../../terminal/io.ts';
import { runVerb, type Verb } from '../../terminal/run-verb.ts';
import { parseDuration } from '../serve-flags.ts';
import { look, type TopData } from './top-data.ts';
import { frame, shownWatches } from './top-frame.ts';
import { TopScreen } from './top-screen.ts';
import { FIRST_STATE, onKey, type TopState } from './top-state.ts';

export type TopFlags = ClusterFlags & { readonly interval: number; readonly once?: boolean };

/** Without a terminal there is no last line. */
const ENDLESS = 10_000;

export function addTopCommand(program: Command): void {
  const command = program
    .command('top')
    .description('a live screen: rates, caches, watches by lag, flows (a server of ours)')
    .addOption(new Option('--interval <duration>', 'between two looks').default(1000, '1s').argParser(parseDuration))
    .option('--once', 'print one look and end; what happens without a terminal')
    .addHelpText(
      'after',
      `
Keys: q quit, s sort, / filter, up and down select, Enter open, d end a watch.

Examples:
  longwatch top
  longwatch top --once | head`,
    );
  addClusterOptions(command, { hasNamespace: false }).action((flags: TopFlags) => runVerb(top(flags)));
}

export function top(flags: TopFlags): Verb {
  return async (io) => {
    await using client = await connectTo(flags);
    const inside = await Introspection.of(client, io.signal);
    const { host } = client.transport.access.server;
    const first = await look(inside, undefined);
    if (flags.once || !io.isTerminal) {
      const lines = frame(first, FIRST_STATE, host, { rows: ENDLESS, columns: ENDLESS }, io.paint);
      for (const line of lines.slice(0, -1)) io.print(line);
      return;
    }
    await live(io, inside, host, first, flags.interval);
  };
}

async function live(io: Io, inside: Introspection, host: string, first: TopData, everyMs: number): Promise<void> {
  let [data, state]: [TopData, TopState] = [first, FIRST_STATE];
  let wake: () => void = () => {};
  let isOver = false;
  const draw = () => screen.draw(frame(data, state, host, { rows: io.rows, columns: io.columns }, io.paint));
  const end = (name: string) =>
    inside.endWatch(name).then(
      () => {
        state = { ...state, note: `ended ${name}` };
      },
      (err: Error) => {
        state = { ...state, note: `could not end ${name}: ${err.message}` };
      },
    );
  using screen = new TopScreen(io, {
    onResize: () => draw(),
    onKey: (key) => {
      const names = shownWatches(data, state).map(({ metadata }) => metadata.name);
      const { state: next, action } = onKey(state, key, names);
      state = next;
      if (action?.kind === 'quit') {
        isOver = true;
        wake();
      } else if (action?.kind === 'end') void end(action.name).then(() => wake());
      draw();
    },
  });
  while (!isOver && !io.signal.aborted) {
    draw();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      io.signal.addEventListener('abort', wake, { once: true });
    });
    io.signal.removeEventListener('abort', wake);
    if (isOver || io.signal.aborted) break;
    try {
      data = await look(inside, data);
    } catch (err) {
      if (io.signal.aborted) break;
      state = { ...state, note: `the server does not answer: ${(err as Error).message}` };
    }
  }
}
