/** The second half of the simulated fault schedules: see `simulated.test.ts`. */
import { vi } from 'vitest';
import { simulatedSchedules } from './fault-suite.ts';

vi.mock('undici', () => import('./sim/sim-undici.ts'));
process.removeAllListeners('warning'); // that functions of the user's misbehave is what they are told to

simulatedSchedules({ count: 120, part: 1, parts: 2 });
