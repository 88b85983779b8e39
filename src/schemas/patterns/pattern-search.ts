/**
 * Where in a text a pattern matches first: all ways at once, in the order in which the pattern prefers them. At most
 * (characters of the text) times (states) steps; the meter is charged for each, and for each way once more.
 */
import { ASSERT, type Before, beforeOf, END, MATCH, type PatternProgram, TAKE } from './pattern-program.ts';
import { nextMark, reached } from './state-marks.ts';
import type { StepMeter } from './step-meter.ts';

export type TextRange = { readonly start: number; readonly end: number };

/** A way that is still open: where it stands in the program and where in the text it began. */
type Way = { readonly state: number; readonly since: number };

export function searchPattern(
  program: PatternProgram,
  text: string,
  from: number,
  meter: StepMeter,
): TextRange | undefined {
  let ways: Way[] = [];
  let found: TextRange | undefined;
  let before: Before = from === 0 ? 'begin' : beforeOf(codeBefore(text, from));
  for (let at = from; ; ) {
    const code = text.codePointAt(at) ?? END;
    if (!found) ways.push({ state: program.start, since: at });
    if (ways.length === 0) return found;
    const mark = nextMark();
    const onward: Way[] = [];
    for (const way of ways) {
      if (!follow(program, way, before, code, mark, onward, meter)) continue;
      found = { start: way.since, end: at };
      break; // whatever comes after is preferred less
    }
    if (code === END) return found;
    ways = onward;
    before = beforeOf(code);
    at += code > 0xffff ? 2 : 1;
  }
}

/** Follows forks, the preferred way first, and puts what takes the character into `onward`; true at the match itself. */
function follow(
  program: PatternProgram,
  { state, since }: Way,
  before: Before,
  code: number,
  mark: number,
  onward: Way[],
  meter: StepMeter,
): boolean {
  const { kinds, next, also } = program;
  const open = [state];
  let steps = 2; // a list is made, and is then looked through
  let isMatch = false;
  while (open.length > 0 && !isMatch) {
    const id = open.pop()!;
    if (reached[id] === mark) continue;
    reached[id] = mark;
    steps++;
    if (id === MATCH) isMatch = true;
    else if (kinds[id] === TAKE) {
      if (code !== END && program.takes(id, code)) onward.push({ state: next[id]!, since });
    } else if (kinds[id] === ASSERT) {
      if (program.holds(id, before, code)) open.push(next[id]!);
    } else open.push(also[id]!, next[id]!);
  }
  meter.chargeSteps(steps);
  return isMatch;
}

function codeBefore(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code < 0xe000 && at > 1 ? text.codePointAt(at - 2)! : code;
}
