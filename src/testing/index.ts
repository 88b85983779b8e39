/** What tests of controllers need: so far a clock that is turned by hand. */
export { FakeClock } from './fake-clock.ts';
