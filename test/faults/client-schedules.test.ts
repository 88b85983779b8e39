/**
 * Informers under hundreds of random fault schedules. `FAULT_SEED=n` runs that one alone, `FAULT_SCHEDULES=n` that many.
 */
import { serverInProcess } from './fault-servers.ts';
import { faultSchedules } from './fault-suite.ts';

faultSchedules('on the embedded store', { count: 500, lanes: 4, open: () => serverInProcess('embedded') });
