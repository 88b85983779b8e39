import { attackServer } from './attack.ts';
import { etcdCases } from './cases/etcd-cases.ts';

attackServer('no message to the etcd front holds the server', etcdCases);
