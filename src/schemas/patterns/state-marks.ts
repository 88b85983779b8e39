/**
 * Room to work in that all patterns share, since nothing waits in the middle of a step: which states the current step
 * has reached, and a list of states. A mark that is not the newest says nothing, so nothing is ever cleared.
 */
import { LIMIT_STATES } from './pattern-syntax.ts';

export const reached: Uint32Array = new Uint32Array(LIMIT_STATES + 1);
export const stateList: Uint16Array = new Uint16Array(LIMIT_STATES + 1);
let mark = 0;

export function nextMark(): number {
  if (mark === 0xffffffff) {
    reached.fill(0);
    mark = 0;
  }
  return ++mark;
}
