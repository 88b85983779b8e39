/**
 * Colours for people who look, and none for anybody else: not into files and pipes, not where NO_COLOR is set, not on a
 * terminal that has none. Whoever paints need not ask; without colours every function gives its text back.
 */
export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan';
export type Paint = Readonly<Record<Colour, (text: string) => string>>;

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
};

export function hasColours(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  return isTerminal && !env.NO_COLOR && env.TERM !== 'dumb'; // an empty NO_COLOR counts as none: no-color.org
}

export function paintWith(isColoured: boolean): Paint {
  const entries = Object.entries(CODES).map(([colour, [on, off]]) => [
    colour,
    (text: string) => (isColoured ? `\x1b[${on}m${text}\x1b[${off}m` : text),
  ]);
  return Object.fromEntries(entries) as Paint;
}

/** How many columns a text takes: what only switches colours takes none. */
export function widthOf(text: string): number {
  return plain(text).length;
}

export function plain(text: string): string {
  return text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '');
}

/** What comes from a cluster may hold anything; on a terminal it must not move the cursor, nor begin a line. */
export function harmless(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, '\ufffd');
}
