/**
 * Some of the same fault schedules on other servers: on a real etcd, and against `longwatch serve`, which is killed where
 * the others are restarted. `FAULT_SEED=n` and `FAULT_SCHEDULES=n` work here too.
 */
import { describe } from 'vitest';
import { etcdVersion } from '../../support/etcd-server.ts';
import { serverAsProcess, serverInProcess } from './fault-servers.ts';
import { faultSchedules } from './fault-suite.ts';

faultSchedules('on longwatch serve', { count: 12, lanes: 2, firstSeed: 1001, open: () => serverAsProcess('embedded') });

describe.skipIf(!etcdVersion())('with a real etcd', () => {
  faultSchedules('on etcd', { count: 12, lanes: 2, firstSeed: 2001, open: () => serverInProcess('etcd') });
  faultSchedules('on longwatch serve and etcd', {
    ...{ count: 12, lanes: 2, firstSeed: 3001 },
    open: () => serverAsProcess('etcd'),
  });
});
