/**
 * Informers and operators under random fault schedules with a real server, over sockets and TLS: what the simulated worlds
 * of `simulated.test.ts` do not have. `FAULT_SEED=n` runs that one alone, `FAULT_SCHEDULES=n` that many.
 */
import { serverInProcess } from './fault-servers.ts';
import { faultSchedules } from './fault-suite.ts';

faultSchedules('on the embedded store', { count: 24, lanes: 4, open: () => serverInProcess('embedded') });
