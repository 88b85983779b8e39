/** The words that every layer speaks. */
export { type Clock, systemClock } from './clock.ts';
export { closeOnce } from './closing.ts';
