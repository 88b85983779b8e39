/** The words that every layer speaks. */
export { untilAborted } from './abort.ts';
export { backgroundClock, type Clock, systemClock } from './clock.ts';
export { closeOnce } from './closing.ts';
